// Which mbarriers stand between the two accesses of a conflict: a race that comes from a wait that passed too early, or from a
// barrier with wrong counts, is told there and not as a race.
#pragma once

namespace tmemsim::sim {

struct Machine;

// At the end of a run: fills in what the candidates need for that (Conflict::explained_by, Candidate::signalled, lacks_wait),
// and adds the waits that passed only because their barrier was new and whose threads then read data of its phase 0 (mbar-phase).
void attribute_conflicts(Machine& machine);

}  // namespace tmemsim::sim
