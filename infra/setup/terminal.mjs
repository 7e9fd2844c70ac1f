// @ts-check
import { performance } from 'node:perf_hooks';

/**
 * How a command talks to its user: phases, and lines of text.
 *
 * @typedef {(detail: string) => void} Tell
 * @typedef {{ isTTY?: boolean, write(text: string): unknown }} Out
 * @typedef {object} Terminal
 * @property {<T>(
 *   title: string,
 *   work: (note: Tell, progress: Tell) => T | Promise<T>,
 *   options?: { slow?: string },
 * ) => Promise<T>} phase
 *   Runs `work` under a title. Prints the title with its duration when done. `note` adds a detail
 *   to that line. `progress` does too, and shows it immediately; on an output that is no terminal
 *   it prints a line now and then. `slow` says beforehand that the phase takes a while.
 * @property {(text?: string) => void} print
 * @property {(text: string) => string} bold
 * @property {(text: string) => string} dim
 * @property {(text: string) => string} green
 * @property {(text: string) => string} red
 * @property {(text: string) => string} cyan
 */

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 90;
const TITLE_WIDTH = 34;

/**
 * @param {Out} out
 * @param {{ color?: boolean, quietUnderMs?: number, progressEveryMs?: number }} [options]
 *   `quietUnderMs`: shorter phases print nothing. `progressEveryMs`: the time between lines of
 *   progress on an output that is not a terminal.
 * @returns {Terminal}
 */
export function createTerminal(
  out,
  { color = Boolean(out.isTTY) && !process.env.NO_COLOR, quietUnderMs = 0, progressEveryMs = 10_000 } = {},
) {
  /** @param {number} open @param {number} close */
  const style = (open, close) => (/** @type {string} */ text) =>
    color ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  const [bold, dim, red, green, cyan] = [
    style(1, 22),
    style(2, 22),
    style(31, 39),
    style(32, 39),
    style(36, 39),
  ];
  const print = (text = '') => void out.write(`${text}\n`);

  const looks = { bold, dim, green, red, cyan };
  /** @type {Terminal['phase']} */
  const phase = async (title, work, { slow } = {}) => {
    const line = new PhaseLine(out, title, { ...looks, print, quietUnderMs, progressEveryMs, slow });
    try {
      const result = await work(line.note, line.progress);
      line.end(green('✓'));
      return result;
    } catch (error) {
      line.end(red('✗'));
      throw error;
    }
  };
  return { phase, print, ...looks };
}

/**
 * The line of a phase that is under way. On a terminal it moves.
 *
 * @typedef {object} PhaseOptions
 * @property {(text: string) => void} print
 * @property {(text: string) => string} dim
 * @property {(text: string) => string} cyan
 * @property {number} quietUnderMs
 * @property {number} progressEveryMs
 * @property {string | undefined} slow
 */
class PhaseLine {
  #out;
  #title;
  #options;
  #startedAt = performance.now();
  #lineAt = this.#startedAt;
  #detail = '';
  #frame = 0;
  #timer;

  /** @param {Out} out @param {string} title @param {PhaseOptions} options */
  constructor(out, title, options) {
    this.#out = out;
    this.#title = title;
    this.#options = options;
    const { print, slow } = options;
    if (!out.isTTY && slow) print(`  … ${title} (${slow})`);
    this.#timer = out.isTTY ? setInterval(() => this.#spin(), FRAME_MS) : undefined;
  }

  /** @type {Tell} */
  note = (text) => {
    this.#detail = text;
  };

  /** @type {Tell} */
  progress = (text) => {
    this.note(text);
    const { print, dim, progressEveryMs } = this.#options;
    if (this.#out.isTTY || performance.now() - this.#lineAt < progressEveryMs) return;
    this.#lineAt = performance.now();
    print(`    ${this.#title} ${dim(text)}`);
  };

  /** @param {string} mark */
  end(mark) {
    clearInterval(this.#timer);
    if (this.#out.isTTY) this.#out.write('\r\u001b[2K');
    if (this.#isQuiet) return;
    const { print, dim } = this.#options;
    const [title, detail] = [this.#title, this.#detail];
    const time = `${(this.#elapsedMs / 1000).toFixed(1)} s`;
    const text = detail ? `${title} ${dim(detail)}` : title;
    const width = title.length + (detail ? detail.length + 1 : 0);
    print(`  ${mark} ${text}${' '.repeat(Math.max(2, TITLE_WIDTH - width))}${dim(time.padStart(7))}`);
  }

  get #elapsedMs() {
    return performance.now() - this.#startedAt;
  }

  get #isQuiet() {
    return this.#elapsedMs < this.#options.quietUnderMs;
  }

  #spin() {
    if (this.#isQuiet) return;
    const { dim, cyan, slow } = this.#options;
    const mark = FRAMES[this.#frame++ % FRAMES.length];
    this.#out.write(`\r\u001b[2K  ${cyan(mark ?? '')} ${this.#title} ${dim(this.#detail || slow || '')}`);
  }
}

/** An error that the user can act on. It is printed as text, without a stack trace. */
export class Failure extends Error {
  /**
   * @param {string} message what went wrong
   * @param {{ hint?: string, output?: string }} [more] `hint`: what to do. `output`: the end of a
   *   program's output.
   */
  constructor(message, { hint, output } = {}) {
    super(message);
    this.name = 'Failure';
    this.hint = hint;
    this.output = output;
  }
}

/**
 * @param {Terminal} terminal
 * @param {unknown} error a Failure (of this module, or an object of its shape), or any other error
 */
export function printFailure(terminal, error) {
  const { message, hint, output, stack, name } = /** @type {Failure} */ (
    error instanceof Error ? error : new Error(String(error))
  );
  terminal.print();
  terminal.print(`  ${terminal.red('✗')} ${terminal.bold(message)}`);
  if (output) terminal.print(`\n${output.trimEnd().replace(/^/gm, '    ')}`);
  if (hint) terminal.print(`\n  ${hint.replace(/\n/g, '\n  ')}`);
  if (name !== 'Failure' && stack) terminal.print(terminal.dim(stack.replace(/^/gm, '    ')));
  terminal.print();
}
