import type { ChangeModelInput, ModelDetail, ModelSettings } from '@tidegate/control';
import { typedWhole } from '../ui/numbers.ts';
import { urlsOf } from './publication.ts';

interface Edited {
  /** The model as the form's fields first showed it. */
  readonly base: {
    readonly model: Pick<ModelDetail, 'contextTokens' | 'sleepAfterS'>;
    readonly settings: ModelSettings;
  };
  /** The values of the form's fields, by name and trimmed. A field that is not shown has none. */
  readonly typed: Readonly<Record<string, string>>;
  readonly dropsKey: boolean;
}

/**
 * Only what was edited, so that a change made elsewhere meanwhile is not undone. The model as it is
 * now does not matter: a field that no one touched would differ from it and undo that change.
 */
export function changesOf({ base, typed, dropsKey }: Edited): Partial<ChangeModelInput> {
  const { model, settings } = base;
  const urls = urlsOf(typed.urls ?? '');
  const { upstreamKey = '' } = typed;
  const wanted: Partial<ChangeModelInput> = {
    ...(settings.urls !== null && urls.join(' ') !== settings.urls.join(' ') ? { urls } : {}),
    ...number('contextTokens', typed, model.contextTokens),
    ...(model.sleepAfterS === null ? {} : number('sleepAfterS', typed, model.sleepAfterS)),
    ...(settings.urls === null ? number('startTimeoutS', typed, settings.startTimeoutS) : {}),
    ...optionalText('upstreamModel', typed, settings.upstreamModel),
    ...optionalText('healthPath', typed, settings.healthPath),
  };
  if (dropsKey) return { ...wanted, upstreamKey: null };
  return upstreamKey === '' ? wanted : { ...wanted, upstreamKey };
}

type Typed = Edited['typed'];

/** Null for an empty field. The server refuses that if the model must have the setting. */
const number = (name: string, typed: Typed, before: number | null) =>
  typed[name] === String(before ?? '')
    ? {}
    : { [name]: typed[name] === '' ? null : typedWhole(typed[name] ?? '') };

const optionalText = (name: string, typed: Typed, before: string | null) =>
  typed[name] === (before ?? '') ? {} : { [name]: typed[name] || null };
