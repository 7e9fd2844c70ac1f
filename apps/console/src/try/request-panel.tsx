'use client';

import type { ModelView } from '@tidegate/control';
import { LIMITS } from '@tidegate/limits';
import { Choice, Field } from '../ui/field.tsx';
import { Panel } from '../ui/page.tsx';
import type { TrySettings } from './request.ts';
import type { KeyChoice } from './use-key-choice.ts';

const SOURCES = [
  {
    id: 'page',
    text: 'Created for this page',
    hint: 'With the first message. Ends when you leave, or after an hour.',
  },
  { id: 'pasted', text: 'One that you paste', hint: 'Any active key of the organization' },
] as const;

interface RequestPanelProps {
  readonly models: readonly Pick<ModelView, 'name' | 'kind'>[];
  readonly keyChoice: KeyChoice;
  /** Whether the page can create a key. */
  readonly mayCreateKey: boolean;
  readonly settings: TrySettings;
  readonly onChange: (part: Partial<TrySettings>) => void;
}

/** The key, the model and the parameters that messages are sent with. */
export function RequestPanel({ models, keyChoice, mayCreateKey, settings, onChange }: RequestPanelProps) {
  const { source, setSource, pasted, setPasted } = keyChoice;
  return (
    <Panel title="Request" className="max-xl:order-first">
      <div className="grid grid-cols-1 gap-4 px-5 pb-5 sm:grid-cols-2 xl:grid-cols-1">
        {mayCreateKey ? <Choice label="Key" options={SOURCES} value={source} onChange={setSource} /> : null}
        {source === 'pasted' ? (
          <Field
            label="API key"
            type="password"
            value={pasted}
            onChange={setPasted}
            autoComplete="off"
            autoFocus
            input={{ placeholder: 'ti_…', spellCheck: false }}
            hint="Kept on this page only, and gone when you leave it."
          />
        ) : null}
        <Choice
          label="Model"
          options={models.map(({ name, kind: of }) => ({
            id: name,
            text: name,
            hint: of === 'vision' ? 'Text and images' : 'Text',
          }))}
          value={settings.model}
          onChange={(model) => onChange({ model })}
        />
        <Field label="System message" value={settings.system} onChange={(system) => onChange({ system })} />
        <div className="grid grid-cols-2 gap-3">
          <Field
            label="max_tokens"
            type="number"
            value={settings.maxTokens}
            onChange={(maxTokens) => onChange({ maxTokens })}
            input={{ min: LIMITS.minMaxTokens, max: LIMITS.maxMaxTokens }}
          />
          <Field
            label="temperature"
            type="number"
            value={settings.temperature}
            onChange={(temperature) => onChange({ temperature })}
            input={{ min: LIMITS.minTemperature, max: LIMITS.maxTemperature, step: 0.1 }}
          />
        </div>
      </div>
    </Panel>
  );
}
