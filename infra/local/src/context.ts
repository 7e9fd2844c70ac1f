import type { Files } from './files.ts';
import type { StackOptions, StackReport } from './options.ts';
import type { Members } from './running.ts';
import type { GivenStores } from './stores/given.ts';

/** What the stages of a start work with. */
export interface StackContext {
  readonly files: Files;
  readonly members: Members;
  readonly options: StackOptions;
  /** The stores that someone else runs. */
  readonly given: GivenStores;
  readonly phase: NonNullable<StackReport['phase']>;
}
