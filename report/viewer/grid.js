// A zoomable grid of cells on a canvas: tensor memory, registers, memory.
//
// The owner gives: rows, columns; paint(pixels, window) fills one pixel a cell; and, where cells are large, their words.

const MARGIN = {left: 46, top: 34, right: 8, bottom: 6};
const LARGEST_CELL = {width: 170, height: 54};

class Grid {
  constructor(canvas, owner) {
    this.canvas = canvas;
    this.owner = owner;
    this.context = canvas.getContext("2d");
    this.image = document.createElement("canvas");
    this.rows = this.columns = 0;
    this.cell = {width: 1, height: 1};
    this.origin = {row: 0, column: 0};   // at the upper left corner, fractions of cells included
    this.size = {width: 0, height: 0};
    this.marks = [];
    this.hovered = null;
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.listen();
  }

  // ---- geometry ----
  get inner() {
    return {width: Math.max(1, this.size.width - MARGIN.left - MARGIN.right), height: Math.max(1, this.size.height - MARGIN.top - MARGIN.bottom)};
  }
  resize() {
    const ratio = window.devicePixelRatio || 1, box = this.canvas.getBoundingClientRect();
    if (!box.width || !box.height) return;
    const first = this.size.width === 0;
    this.size = {width: box.width, height: box.height};
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (this.fitted || first) this.fit(this.fitted);
    else this.clampOrigin();
    this.draw();
  }
  setShape(rows, columns) {
    if (rows === this.rows && columns === this.columns) return;
    this.rows = rows;
    this.columns = columns;
    this.fit(null);
  }
  // Shows a window of cells (all of them without one) as large as it goes.
  fit(window) {
    this.fitted = window || {row: 0, rows: this.rows, column: 0, columns: this.columns};
    const {row, rows, column, columns} = this.fitted, inner = this.inner;
    this.cell = {
      width: Math.max(1, Math.min(64, inner.width / Math.max(1, columns))),
      height: Math.max(1, Math.min(22, inner.height / Math.max(1, rows))),
    };
    this.origin = {row, column};
    this.clampOrigin();
  }
  clampOrigin() {
    const inner = this.inner;
    this.origin.row = Math.max(0, Math.min(this.origin.row, this.rows - inner.height / this.cell.height));
    this.origin.column = Math.max(0, Math.min(this.origin.column, this.columns - inner.width / this.cell.width));
  }
  zoom(factor, x = MARGIN.left + this.inner.width / 2, y = MARGIN.top + this.inner.height / 2) {
    const column = this.origin.column + (x - MARGIN.left) / this.cell.width, row = this.origin.row + (y - MARGIN.top) / this.cell.height;
    const inner = this.inner;
    const least = {width: Math.max(1, Math.min(64, inner.width / this.columns)), height: Math.max(1, Math.min(22, inner.height / this.rows))};
    this.cell.width = Math.max(least.width, Math.min(LARGEST_CELL.width, this.cell.width * factor));
    this.cell.height = Math.max(least.height, Math.min(LARGEST_CELL.height, this.cell.height * factor));
    this.origin = {column: column - (x - MARGIN.left) / this.cell.width, row: row - (y - MARGIN.top) / this.cell.height};
    this.moved();
  }
  pan(dx, dy) {
    this.origin.column -= dx / this.cell.width;
    this.origin.row -= dy / this.cell.height;
    this.moved();
  }
  moved() {
    this.fitted = null;
    this.clampOrigin();
    this.draw();
    if (this.owner.moved) this.owner.moved();
  }
  // Brings a cell into view without changing the zoom.
  reveal(row, column) {
    const inner = this.inner, high = inner.height / this.cell.height, wide = inner.width / this.cell.width;
    if (row < this.origin.row || row + 1 > this.origin.row + high) this.origin.row = row + 0.5 - high / 2;
    if (column < this.origin.column || column + 1 > this.origin.column + wide) this.origin.column = column + 0.5 - wide / 2;
    this.clampOrigin();
  }
  cellAt(x, y) {
    if (x < MARGIN.left || y < MARGIN.top) return null;
    const row = Math.floor(this.origin.row + (y - MARGIN.top) / this.cell.height);
    const column = Math.floor(this.origin.column + (x - MARGIN.left) / this.cell.width);
    return row >= 0 && row < this.rows && column >= 0 && column < this.columns ? {row, column} : null;
  }
  x(column) {
    return MARGIN.left + (column - this.origin.column) * this.cell.width;
  }
  y(row) {
    return MARGIN.top + (row - this.origin.row) * this.cell.height;
  }
  visible() {
    const inner = this.inner;
    const row = Math.max(0, Math.floor(this.origin.row)), column = Math.max(0, Math.floor(this.origin.column));
    const endRow = Math.min(this.rows, Math.ceil(this.origin.row + inner.height / this.cell.height));
    const endColumn = Math.min(this.columns, Math.ceil(this.origin.column + inner.width / this.cell.width));
    return {row, column, rows: Math.max(0, endRow - row), columns: Math.max(0, endColumn - column)};
  }

  // ---- drawing ----
  draw() {
    const {context} = this;
    context.clearRect(0, 0, this.size.width, this.size.height);
    if (!this.rows || !this.size.width) return;
    const window = this.visible();
    if (!window.rows || !window.columns) return;
    context.save();
    context.beginPath();
    context.rect(MARGIN.left, MARGIN.top, this.inner.width, this.inner.height);
    context.clip();
    this.drawCells(window);
    this.drawLines(window);
    this.drawWords(window);
    this.drawMarks();
    context.restore();
    this.drawRulers(window);
  }
  drawCells(window) {
    const {image, context} = this;
    if (image.width !== window.columns || image.height !== window.rows) {
      image.width = window.columns;
      image.height = window.rows;
    }
    const painter = image.getContext("2d"), data = painter.createImageData(window.columns, window.rows);
    this.owner.paint(new Uint32Array(data.data.buffer), window);
    painter.putImageData(data, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(image, this.x(window.column), this.y(window.row), window.columns * this.cell.width, window.rows * this.cell.height);
  }
  drawLines(window) {
    const {context, cell} = this, top = this.y(window.row), left = this.x(window.column);
    const bottom = this.y(window.row + window.rows), right = this.x(window.column + window.columns);
    const line = (x0, y0, x1, y1) => { context.moveTo(x0, y0); context.lineTo(x1, y1); };
    context.beginPath();
    if (cell.width >= 5) for (let c = window.column; c <= window.column + window.columns; ++c) line(Math.round(this.x(c)) - 0.5, top, Math.round(this.x(c)) - 0.5, bottom);
    if (cell.height >= 5) for (let r = window.row; r <= window.row + window.rows; ++r) line(left, Math.round(this.y(r)) - 0.5, right, Math.round(this.y(r)) - 0.5);
    context.strokeStyle = palette.names.panel;
    context.globalAlpha = cell.width < 9 && cell.height < 9 ? 0.45 : 0.9;
    context.lineWidth = 1;
    context.stroke();
    context.globalAlpha = 1;
    const every = this.owner.majorRows || 0;
    if (!every) return;
    context.beginPath();
    for (let r = Math.ceil(window.row / every) * every; r <= window.row + window.rows; r += every)
      if (r > 0 && r < this.rows) line(left, Math.round(this.y(r)) - 0.5, right, Math.round(this.y(r)) - 0.5);
    context.strokeStyle = palette.names["line-strong"];
    context.stroke();
  }
  drawWords(window) {
    const {context, cell} = this;
    if (cell.width < 52 || cell.height < 11) return;
    const two = cell.height >= 25;
    context.font = "10px ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = palette.names.text;
    for (let r = window.row; r < window.row + window.rows; ++r) {
      for (let c = window.column; c < window.column + window.columns; ++c) {
        const [first, second] = this.owner.words(r, c, Math.floor((cell.width - 6) / 6.1));
        const x = this.x(c) + cell.width / 2, y = this.y(r) + cell.height / 2;
        if (first) context.fillText(first, x, two && second ? y - 6.5 : y);
        if (two && second) {
          context.globalAlpha = 0.72;
          context.fillText(second, x, y + 6.5);
          context.globalAlpha = 1;
        }
      }
    }
  }
  drawMarks() {
    const {context, cell} = this;
    for (const {row, column, rows, columns, kind} of this.marks) {
      const x = this.x(column), y = this.y(row), width = columns * cell.width, height = rows * cell.height;
      const grow = kind === "selection" ? 1 : 0, least = 3;
      context.lineWidth = kind === "selection" ? 2 : 1.75;
      context.strokeStyle = palette.names["mark-" + kind];
      context.setLineDash(kind === "finding" ? [4, 3] : []);
      context.strokeRect(x - grow + 0.25, y - grow + 0.25, Math.max(least, width + 2 * grow - 0.5), Math.max(least, height + 2 * grow - 0.5));
    }
    context.setLineDash([]);
  }
  drawRulers(window) {
    const {context, cell} = this;
    context.font = "10px system-ui, sans-serif";
    context.fillStyle = palette.names.muted;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const rowStep = rulerStep(13 / cell.height, this.owner.rowSteps);
    for (let r = Math.ceil(window.row / rowStep) * rowStep; r < window.row + window.rows; r += rowStep) {
      const y = Math.max(this.y(r) + Math.min(cell.height / 2, 7), r === window.row ? MARGIN.top + 6 : 0);
      if (y >= MARGIN.top && y < this.size.height - 3) context.fillText(this.owner.rowName(r), MARGIN.left - 6, y);
    }
    context.textAlign = "center";
    const columnStep = rulerStep(30 / cell.width, this.owner.columnSteps);
    for (let c = Math.ceil(window.column / columnStep) * columnStep; c < window.column + window.columns; c += columnStep) {
      const x = this.x(c) + (cell.width > 24 ? cell.width / 2 : Math.min(cell.width / 2, 5));
      if (x >= MARGIN.left && x < this.size.width - MARGIN.right) context.fillText(this.owner.columnName(c), x, MARGIN.top - 8);
    }
    this.drawBands();
    context.textAlign = "right";
    context.fillStyle = palette.names.faint;
    context.fillText(this.owner.rowWord, MARGIN.left - 6, MARGIN.top - 8);
  }
  // Names of buffers above the columns that they take.
  drawBands() {
    const {context} = this, right = this.size.width - MARGIN.right;
    context.textAlign = "left";
    for (const band of this.owner.bands()) {
      const from = Math.max(MARGIN.left, this.x(band.first)), to = Math.min(right, this.x(band.last + 1));
      if (to - from < 2) continue;
      context.fillStyle = band.colour;
      context.fillRect(from, 3, to - from - 1, 14);
      context.save();
      context.beginPath();
      context.rect(from, 0, to - from - 2, 18);
      context.clip();
      context.fillStyle = palette.names.text;
      context.fillText(band.name, from + 5, 10.5);
      context.restore();
    }
  }

  // ---- mouse and keys ----
  listen() {
    const {canvas} = this;
    let press = null;
    canvas.addEventListener("pointerdown", (event) => {
      press = {x: event.offsetX, y: event.offsetY, moved: false};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!press) return this.hover(event);
      const dx = event.offsetX - press.x, dy = event.offsetY - press.y;
      if (!press.moved && Math.hypot(dx, dy) < 4) return;
      press.moved = true;
      canvas.classList.add("dragging");
      showTip(null);
      this.pan(dx, dy);
      press.x = event.offsetX;
      press.y = event.offsetY;
    });
    canvas.addEventListener("pointerup", (event) => {
      canvas.classList.remove("dragging");
      const cell = press && !press.moved ? this.cellAt(event.offsetX, event.offsetY) : null;
      press = null;
      if (cell) this.owner.chosen(cell.row, cell.column);
    });
    canvas.addEventListener("pointercancel", () => { press = null; });
    canvas.addEventListener("pointerleave", () => { showTip(null); });
    canvas.addEventListener("dblclick", (event) => this.zoom(2, event.offsetX, event.offsetY));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey) this.pan(-event.deltaY - event.deltaX, 0);
      else this.zoom(Math.exp(-Math.max(-120, Math.min(120, event.deltaY)) * 0.004), event.offsetX, event.offsetY);
    }, {passive: false});
  }
  hover(event) {
    const cell = this.cellAt(event.offsetX, event.offsetY);
    showTip(cell ? this.owner.tip(cell.row, cell.column) : null, event.clientX, event.clientY);
  }
}

// The smallest of the steps that keeps labels apart.
function rulerStep(least, steps) {
  return steps.find((step) => step >= least) || steps[steps.length - 1] * Math.ceil(least / steps[steps.length - 1]);
}

function showTip(text, x, y) {
  const tip = document.getElementById("tip");
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(6, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + "px";
}
