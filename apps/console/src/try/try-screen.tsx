'use client';

import { Button, Disclosure } from '@heroui/react';
import type { ModelView } from '@tidegate/control';
import { useState } from 'react';
import { firstUsable } from '../models/first-usable.ts';
import { NoUsable } from '../models/no-usable.tsx';
import { Snippets } from '../ui/code.tsx';
import { Link } from '../ui/link.tsx';
import { Live } from '../ui/live.tsx';
import { Empty, PageHeader } from '../ui/page.tsx';
import { Composer } from './composer.tsx';
import { Conversation } from './conversation.tsx';
import { bodyOf, type ChatMessage, programsOf, type TrySettings } from './request.ts';
import { RequestPanel } from './request-panel.tsx';
import { type Chat, useChat } from './use-chat.ts';
import { type KeyChoice, useKeyChoice } from './use-key-choice.ts';

interface TryScreenProps {
  readonly org: string;
  readonly apiUrl: string;
  readonly mayChange: boolean;
  readonly models: readonly Pick<ModelView, 'name' | 'kind' | 'condition'>[];
  readonly imagesOnPlan: boolean;
}

const HINTS: Readonly<Record<KeyChoice['source'], string>> = {
  page: 'Send the model a message. Enter sends it; Shift+Enter starts a new line.',
  pasted: 'Paste a key, then send the model a message.',
};

const START: TrySettings = { model: '', system: '', maxTokens: '512', temperature: '0' };

export function TryScreen({ org, apiUrl, mayChange, models, imagesOnPlan }: TryScreenProps) {
  const chat = useChat(org);
  const keyChoice = useKeyChoice(org, mayChange);
  const [settings, setSettings] = useState(START);
  const change = (part: Partial<TrySettings>) => setSettings({ ...settings, ...part });
  const usable = firstUsable(models)?.name;
  // Chooses a model as soon as one is usable, even after the page was opened. Never changes the
  // user's choice.
  if (settings.model === '' && usable !== undefined) change({ model: usable });
  const kind = models.find(({ name }) => name === settings.model)?.kind ?? 'text';
  return (
    <>
      <TryHeader chat={chat} />
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
        <NoModels org={org} mayChange={mayChange} />
      ) : (
        <div className="grid grid-cols-1 items-start gap-6 xl:grid-cols-[minmax(0,1fr)_19rem]">
          <section className="card-surface flex min-h-[32rem] flex-col" aria-label="Conversation">
            <Conversation
              org={org}
              chat={chat}
              hint={HINTS[keyChoice.source]}
              onPaste={() => keyChoice.setSource('pasted')}
            />
            <Composer
              chat={chat}
              keys={keyChoice.keys}
              settings={settings}
              takesImages={kind === 'vision'}
              imagesOnPlan={imagesOnPlan}
            />
          </section>
          <RequestPanel
            models={models}
            keyChoice={keyChoice}
            mayCreateKey={mayChange}
            settings={settings}
            onChange={change}
          />
          <AsProgram apiUrl={apiUrl} messages={chat.messages} settings={settings} />
        </div>
      )}
    </>
  );
}

const TryHeader = ({ chat }: { chat: Chat }) => (
  <PageHeader
    title="Try it"
    lead="Chat with a model through the gateway, as your programs do. Requests count, and every refusal is shown as the API returns it."
    actions={
      chat.messages.length > 0 ? (
        <Button variant="secondary" onPress={chat.clear}>
          New conversation
        </Button>
      ) : null
    }
  />
);

const NoModels = ({ org, mayChange }: { org: string; mayChange: boolean }) => (
  <section className="card-surface">
    <Empty icon={<span className="icon-message-square size-5" aria-hidden />} title="No models yet">
      {mayChange ? (
        <Link href={`/o/${org}/api`} className="inline-link">
          Publish one on the API screen
        </Link>
      ) : (
        'When an owner has published one, you can try it here.'
      )}
    </Empty>
  </section>
);

interface AsProgramProps {
  readonly apiUrl: string;
  readonly messages: readonly ChatMessage[];
  readonly settings: TrySettings;
}

/** The last request as a program, or an example before the first. */
function AsProgram({ apiUrl, messages, settings }: AsProgramProps) {
  const asked = messages.filter(({ role }, i) => role === 'user' || i < messages.length - 1);
  const example = asked.length > 0 ? asked : [{ role: 'user' as const, text: 'Hello!', images: [] }];
  return (
    <Disclosure className="xl:col-span-2">
      <Disclosure.Heading>
        <Button slot="trigger" variant="tertiary" size="sm">
          The same as code
          <Disclosure.Indicator />
        </Button>
      </Disclosure.Heading>
      <Disclosure.Content>
        <Disclosure.Body className="pt-3">
          <Snippets label="The same as code" snippets={programsOf(apiUrl, bodyOf(example, settings))} />
        </Disclosure.Body>
      </Disclosure.Content>
    </Disclosure>
  );
}
