'use client';

import { Button, Disclosure } from '@heroui/react';
import type { ModelView } from '@tidegate/control';
import { useState } from 'react';
import { firstUsable } from '../models/first-usable.ts';
import { NoUsable } from '../models/no-usable.tsx';
import { Snippets } from '../ui/code.tsx';
import { Choice, Field } from '../ui/field.tsx';
import { Link } from '../ui/link.tsx';
import { Live } from '../ui/live.tsx';
import { Empty, PageHeader, Panel } from '../ui/page.tsx';
import { Composer } from './composer.tsx';
import { Conversation } from './conversation.tsx';
import { bodyOf, programsOf, type Settings } from './request.ts';
import { useChat } from './use-chat.ts';
import { pastedKey, usePageKey } from './use-page-key.ts';

interface TryScreenProps {
  readonly org: string;
  readonly apiUrl: string;
  readonly mayChange: boolean;
  readonly models: readonly Pick<ModelView, 'name' | 'kind' | 'condition'>[];
  readonly imagesOnPlan: boolean;
}

type Source = 'page' | 'pasted';

const SOURCES = [
  {
    id: 'page',
    text: 'Made for this page',
    hint: 'With the first message. Ends when you leave, or after an hour.',
  },
  { id: 'pasted', text: 'One that you paste', hint: 'Any active key of the organization' },
] as const;

const HINTS: Readonly<Record<Source, string>> = {
  page: 'Send the model a message. Enter sends it; Shift and Enter begin a new line.',
  pasted: 'Paste a key, then send the model a message.',
};

const START: Omit<Settings, 'model'> = { system: '', maxTokens: 512, temperature: 0 };

export function TryScreen({ org, apiUrl, mayChange, models, imagesOnPlan }: TryScreenProps) {
  const chat = useChat(org);
  const pageKey = usePageKey(org);
  const [pasted, setPasted] = useState('');
  const [source, setSource] = useState<Source>(mayChange ? 'page' : 'pasted');
  const [settings, setSettings] = useState<Settings>({ ...START, model: '' });
  const change = (part: Partial<Settings>) => setSettings({ ...settings, ...part });
  const usable = firstUsable(models)?.name;
  // Chooses a model as soon as one is usable, also after the page was opened. Never changes the
  // user's choice.
  if (settings.model === '' && usable !== undefined) change({ model: usable });
  const kind = models.find(({ name }) => name === settings.model)?.kind ?? 'text';
  const asked = chat.turns.filter((turn, i) => turn.role === 'user' || i < chat.turns.length - 1);
  const example = asked.length > 0 ? asked : [{ role: 'user' as const, text: 'Hello!', images: [] }];
  return (
    <>
      <PageHeader
        title="Try it"
        lead="Chat with a model through the gateway, as your programs do. Requests count, and every refusal is shown as the API gives it."
        actions={
          chat.turns.length > 0 ? (
            <Button variant="secondary" onPress={chat.clear}>
              New conversation
            </Button>
          ) : null
        }
      />
      {usable === undefined ? <Live /> : null}
      {models.length > 0 && usable === undefined ? (
        <NoUsable
          count={models.length}
          mayChange={mayChange}
          href={`/o/${org}/api`}
          where="on the API screen"
          className="mb-5"
        />
      ) : null}
      {models.length === 0 ? (
        <section className="card-surface">
          <Empty icon={<span className="icon-message-square size-5" aria-hidden />} title="No models yet">
            {mayChange ? (
              <Link href={`/o/${org}/api`} className="font-medium text-accent underline underline-offset-4">
                Publish one on the API screen
              </Link>
            ) : (
              'When an owner has published one, you can try it here.'
            )}
          </Empty>
        </section>
      ) : (
        <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_19rem]">
          <section className="card-surface flex min-h-[32rem] flex-col" aria-label="Conversation">
            <Conversation org={org} chat={chat} hint={HINTS[source]} onPaste={() => setSource('pasted')} />
            <Composer
              chat={chat}
              keys={source === 'page' ? pageKey : pasted.trim() === '' ? null : pastedKey(pasted.trim())}
              settings={settings}
              takesImages={kind === 'vision'}
              imagesOnPlan={imagesOnPlan}
            />
          </section>
          <Panel title="Request" className="max-xl:order-first">
            <div className="grid gap-4 px-5 pb-5 sm:grid-cols-2 xl:grid-cols-1">
              {mayChange ? (
                <Choice label="Key" options={SOURCES} value={source} onChange={setSource} />
              ) : null}
              {source === 'pasted' ? (
                <Field
                  label="API key"
                  type="password"
                  value={pasted}
                  onChange={setPasted}
                  autoComplete="off"
                  autoFocus
                  input={{ placeholder: 'ti_…', spellCheck: false }}
                  hint="Kept in this page only, and gone when you leave it."
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
                onChange={(model) => change({ model })}
              />
              <Field
                label="System message"
                value={settings.system}
                onChange={(system) => change({ system })}
              />
              <div className="grid grid-cols-2 gap-3">
                <Field
                  label="max_tokens"
                  type="number"
                  value={String(settings.maxTokens)}
                  onChange={(value) => change({ maxTokens: Number(value) })}
                  input={{ min: 1, max: 8_192 }}
                />
                <Field
                  label="temperature"
                  type="number"
                  value={String(settings.temperature)}
                  onChange={(value) => change({ temperature: Number(value) })}
                  input={{ min: 0, max: 2, step: 0.1 }}
                />
              </div>
            </div>
          </Panel>
          <Disclosure className="xl:col-span-2">
            <Disclosure.Heading>
              <Button slot="trigger" variant="tertiary" size="sm">
                The same as a program
                <Disclosure.Indicator />
              </Button>
            </Disclosure.Heading>
            <Disclosure.Content>
              <Disclosure.Body className="pt-3">
                <Snippets
                  label="The same as a program"
                  snippets={programsOf(apiUrl, bodyOf(example, settings))}
                />
              </Disclosure.Body>
            </Disclosure.Content>
          </Disclosure>
        </div>
      )}
    </>
  );
}
