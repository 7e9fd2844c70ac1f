// @ts-check
import { Failure } from './terminal.mjs';

/** Why files cannot be written: the system's code and number, plain words, and what to do. */
const CAUSES = [
  { code: 'ENOSPC', number: 28, words: 'no space left on the device', hint: 'Make room on that disk' },
  { code: 'EDQUOT', number: 122, words: 'the disk quota is used up', hint: 'Make room in that quota' },
  { code: 'EROFS', number: 30, words: 'the file system is read-only', hint: 'Make it writable' },
  { code: 'EACCES', number: 13, words: 'permission denied', hint: 'Let this user write there' },
  { code: 'EPERM', number: 1, words: 'operation not permitted', hint: 'Let this user write there' },
];
const PLAIN_WORDS = /No space left on device/i;

/**
 * Why a step failed, if the disk or its permissions are the cause.
 *
 * @param {string} text a program's output, or a system error's message
 * @returns {{ words: string, hint: string } | undefined} `words` include the path if it is known
 */
export function storageCause(text) {
  const found = CAUSES.find(
    ({ code, number }) =>
      new RegExp(`\\b${code}:|\\bcode:? '?${code}\\b|\\(os error ${number}\\)`).test(text) ||
      (code === 'ENOSPC' && PLAIN_WORDS.test(text)),
  );
  if (!found) return undefined;
  const path =
    new RegExp(`${found.code}: [^'\\n]*'([^'\\n]+)'`).exec(text)?.[1] ??
    /^npm error path (.+)$/m.exec(text)?.[1];
  return {
    words: path ? `${found.words} (${path})` : found.words,
    hint: `${found.hint}, then run the command again.`,
  };
}

/**
 * Turns an error of the system (a file cannot be read or written, a program cannot be run) into a
 * sentence.
 *
 * @param {string} step what failed, such as "The build failed"
 * @param {unknown} error
 * @returns {unknown} any other error as it is
 */
export function systemFailure(step, error) {
  const { code, syscall, message } = /** @type {NodeJS.ErrnoException} */ (error ?? {});
  if (!code || !syscall) return error;
  const cause = storageCause(message);
  return new Failure(`${step}: ${cause?.words ?? message}.`, cause ? { hint: cause.hint } : {});
}
