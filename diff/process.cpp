#include "diff/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tmemsim::diff {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kept_output = 64 * 1024;

class File {
 public:
  explicit File(int number = -1) : number_(number) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

// What the new process does between fork() and exec(): system calls only, the other threads of this program do not exist there.
[[noreturn]] void become(char* const* words, const char* folder, int null, int output, int problem, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGPIPE, &usual, nullptr);
  const bool ready = ::dup2(null, STDIN_FILENO) >= 0 && ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(output, STDERR_FILENO) >= 0 &&
                     (*folder == '\0' || ::chdir(folder) == 0);
  if (ready) ::execv(words[0], words);
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(problem, &error, sizeof(error));
  ::_exit(127);
}

// Keeps the end of what a program prints, and hands on whole lines.
class Listener {
 public:
  explicit Listener(const OnLine& on_line) : on_line_(on_line) {}

  bool take(std::string_view text) {
    output_ += text;
    if (output_.size() > 2 * kept_output) output_.erase(0, output_.size() - kept_output);
    bool progress = false;
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      line_ += text.substr(0, end);
      progress |= on_line_ && on_line_(line_);
      line_.clear();
      text.remove_prefix(end + 1);
    }
    if (line_.size() + text.size() <= kept_output) line_ += text;
    return progress;
  }

  std::string output() && {
    if (output_.size() > kept_output) output_.erase(0, output_.size() - kept_output);
    return std::move(output_);
  }

 private:
  const OnLine& on_line_;
  std::string output_, line_;
};

class Running {
 public:
  Running(pid_t process, int output, const Command& command, const OnLine& on_line)
      : process_(process), output_(output), limit_(command.limit), listener_(on_line) {}

  Ended wait() {
    auto last_progress = Clock::now();
    bool timed_out = false;
    while (!ended_) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit_ - (Clock::now() - last_progress));
      if (left.count() <= 0) {
        timed_out = true;
        break;
      }
      if (read_some(static_cast<int>(std::min<std::int64_t>(left.count(), 50)))) last_progress = Clock::now();
      collect(WNOHANG);
    }
    ::kill(-process_, SIGKILL);  // the program, or what it left behind
    if (!ended_) collect(0);
    while (read_ready(0)) {
      if (!read_once()) break;
    }
    Ended ended;
    ended.how = timed_out ? Ended::How::timed_out : WIFSIGNALED(status_) ? Ended::How::signalled : Ended::How::exited;
    ended.code = timed_out ? 0 : WIFSIGNALED(status_) ? WTERMSIG(status_) : WEXITSTATUS(status_);
    ended.output = std::move(listener_).output();
    return ended;
  }

 private:
  bool read_ready(int milliseconds) const {
    pollfd ready{output_, POLLIN, 0};
    return ::poll(&ready, 1, milliseconds) > 0;
  }

  // Whether there was anything; progress_ tells whether it counts.
  bool read_once() {
    std::array<char, 16384> buffer;
    const ssize_t count = ::read(output_, buffer.data(), buffer.size());
    if (count <= 0) return false;
    progress_ |= listener_.take({buffer.data(), static_cast<std::size_t>(count)});
    return true;
  }

  bool read_some(int milliseconds) {
    progress_ = false;
    if (!closed_ && read_ready(milliseconds)) {
      closed_ = !read_once();
    } else if (closed_) {
      ::usleep(1000);
    }
    return progress_;
  }

  void collect(int options) {
    pid_t result = 0;
    do {
      result = ::waitpid(process_, &status_, options);
    } while (result < 0 && errno == EINTR);
    ended_ = result == process_;
  }

  pid_t process_;
  int output_;
  std::chrono::milliseconds limit_;
  Listener listener_;
  int status_ = 0;
  bool ended_ = false, closed_ = false, progress_ = false;
};

Ended not_started(int error) { return {Ended::How::not_started, error, std::strerror(error)}; }

}  // namespace

Ended run(const Command& command, const OnLine& on_line) {
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const std::string folder = command.folder.string();

  int output_pipe[2], problem_pipe[2];
  if (::pipe2(output_pipe, O_CLOEXEC) != 0) return not_started(errno);
  File output(output_pipe[0]), output_end(output_pipe[1]);
  if (::pipe2(problem_pipe, O_CLOEXEC) != 0) return not_started(errno);
  File problem(problem_pipe[0]), problem_end(problem_pipe[1]);
  File null(::open("/dev/null", O_RDONLY | O_CLOEXEC));

  const pid_t parent = ::getpid(), process = ::fork();
  if (process < 0) return not_started(errno);
  if (process == 0) become(words.data(), folder.c_str(), null.get(), output_end.get(), problem_end.get(), parent);
  ::setpgid(process, process);  // both sides do it: whoever comes first
  output_end.close();
  problem_end.close();
  int error = 0;
  ssize_t told = 0;
  do {
    told = ::read(problem.get(), &error, sizeof(error));
  } while (told < 0 && errno == EINTR);
  Ended ended = Running(process, output.get(), command, on_line).wait();
  return told == sizeof(error) ? not_started(error) : ended;
}

std::string describe(const Ended& ended, const Command& command) {
  switch (ended.how) {
    case Ended::How::exited:
      return fmt::format("exit status {}", ended.code);
    case Ended::How::signalled:
      return fmt::format("ended by signal {} ({})", ended.code, ::strsignal(ended.code));
    case Ended::How::timed_out:
      return fmt::format("no end after {} s", command.limit.count() / 1000);
    case Ended::How::not_started:
      return fmt::format("{} could not be started: {}", command.words.front(), ended.output);
  }
  return {};
}

std::optional<std::filesystem::path> find_program(const std::string& name) {
  const auto runs = [](const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string::npos) return runs(name) ? std::optional(std::filesystem::absolute(name)) : std::nullopt;
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::filesystem::path candidate = std::filesystem::path(rest.substr(0, end)) / name;
    if (end > 0 && runs(candidate)) return std::filesystem::absolute(candidate);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

}  // namespace tmemsim::diff
