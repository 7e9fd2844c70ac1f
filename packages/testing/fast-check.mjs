/**
 * What tests get as `fast-check` (see moduleNameMapper in jest.config.mjs). A property that fails
 * may shrink its counterexample for a long time. It stops in time to print the smallest one so far
 * before Jest gives up on the test. A property that is only slow, on a busy machine, ends with the
 * cases that it has tried.
 */
import fc from '../../node_modules/fast-check/lib/fast-check.js';

const HALF_OF_TEST_TIMEOUT_MS = 120_000;
const SURROGATES_FROM = 0xd800;
const SURROGATES = 0x800;
const CODE_POINTS = 0x110000 - SURROGATES;

fc.configureGlobal({
  // If a run asks for more cases, they have more time.
  interruptAfterTimeLimit: HALF_OF_TEST_TIMEOUT_MS * Number(process.env.TIDEGATE_TEST_CASES ?? 1),
  markInterruptAsFailure: false,
});

const toCharacter = (index) => String.fromCodePoint(index < SURROGATES_FROM ? index : index + SURROGATES);

function toIndex(text) {
  const point = typeof text === 'string' ? (text.codePointAt(0) ?? -1) : -1;
  const isCharacter = point >= 0 && String.fromCodePoint(point) === text;
  const isSurrogate = point >= SURROGATES_FROM && point < SURROGATES_FROM + SURROGATES;
  if (!isCharacter || isSurrogate) throw new Error('not one character');
  return point < SURROGATES_FROM ? point : point - SURROGATES;
}

const character = fc.nat({ max: CODE_POINTS - 1 }).map(toCharacter, toIndex);

/**
 * The library's own `string`, but the same characters of `unit: 'binary'` are computed. The library
 * puts all 1.1 million into a map first, which costs each file with such a test a second and 150
 * MB.
 */
export const string = ({ unit, ...constraints } = {}) =>
  fc.string({ ...constraints, ...(unit && { unit: unit === 'binary' ? character : unit }) });

export * from '../../node_modules/fast-check/lib/fast-check.js';
export default { ...fc, string };
