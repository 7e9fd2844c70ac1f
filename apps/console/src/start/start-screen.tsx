'use client';

import { Button } from '@heroui/react';
import type { ListedModelView } from '@tidegate/control';
import { type ReactNode, useState } from 'react';
import { CreateKey } from '../keys/create-key.tsx';
import { fullness, type KeyCount } from '../keys/fullness.ts';
import type { KeyRules } from '../keys/rules.ts';
import { firstUsable } from '../models/first-usable.ts';
import { PublishModel } from '../models/publish-model.tsx';
import { quickStarts } from '../models/quick-starts.ts';
import { Snippets } from '../ui/code.tsx';
import { Link } from '../ui/link.tsx';
import { PageHeader } from '../ui/page.tsx';
import { type GuideStep, stepsOf } from './steps.ts';

interface StartScreenProps {
  readonly org: string;
  readonly plan: string;
  readonly models: readonly ListedModelView[];
  /** The names of keys that work. */
  readonly keys: readonly string[];
  readonly count: Pick<KeyCount, 'valid' | 'total'>;
  readonly requests: number;
  readonly errors: number;
  readonly rules: KeyRules;
  readonly today: string;
  readonly apiUrl: string;
}

/** Leads from an empty organization to its first answer. */
export function StartScreen(props: StartScreenProps) {
  const { org, plan, models, keys, count, requests, errors, rules, today, apiUrl } = props;
  const [opened, setOpened] = useState<'model' | 'key' | null>(null);
  // Kept in this page only, for the request to copy.
  const [key, setKey] = useState<string | null>(null);
  const steps = stepsOf({ models, keys, requests, errors });
  const close = () => setOpened(null);
  const snippets = quickStarts({
    apiUrl,
    key: key ?? 'YOUR_API_KEY',
    model: firstUsable(models)?.name ?? 'MODEL',
  });
  return (
    <>
      <PageHeader
        title="Get started"
        lead="Three steps to the first answer. Each is ticked off automatically once it is done."
      />
      <ol className="space-y-4" aria-label="First steps">
        <StepCard number={1} step={steps.model} title="Publish a model">
          <p>
            Any server that speaks chat completions: vLLM, llama.cpp, SGLang, Ollama and others. Give its
            address; the rest is filled in from what it reports.
          </p>
          <Button
            variant={steps.model.done ? 'secondary' : 'primary'}
            className="mt-3"
            onPress={() => setOpened('model')}
          >
            Publish model
          </Button>
        </StepCard>
        <StepCard number={2} step={steps.key} title="Create a key">
          <p>Every request carries a key. Its value is shown once.</p>
          <Button
            variant={steps.model.done && !steps.key.done ? 'primary' : 'secondary'}
            className="mt-3"
            isDisabled={fullness({ ...count, plan }, rules).blocked}
            onPress={() => setOpened('key')}
          >
            Create key
          </Button>
        </StepCard>
        <StepCard number={3} step={steps.request} title="Send the first request">
          <p>
            {key === null
              ? 'Put your key in place of YOUR_API_KEY.'
              : 'With your new key, which this page keeps until you leave it.'}
          </p>
          <p>
            Then <ScreenLink org={org} screen="try" name="try the model here" />,{' '}
            <ScreenLink org={org} screen="members" name="invite people" />, or look at{' '}
            <ScreenLink org={org} screen="usage" name="the usage" />.
          </p>
          <div className="mt-3 text-foreground">
            <Snippets label="First request" snippets={snippets} />
          </div>
        </StepCard>
      </ol>
      {opened === 'model' ? <PublishModel org={org} onClose={close} /> : null}
      {opened === 'key' ? (
        <CreateKey
          org={org}
          models={models}
          rules={rules}
          today={today}
          apiUrl={apiUrl}
          onCreated={(created) => setKey(created.key)}
          onClose={close}
        />
      ) : null}
    </>
  );
}

function ScreenLink({ org, screen, name }: { org: string; screen: string; name: string }) {
  return (
    <Link href={`/o/${org}/${screen}`} className="inline-link">
      {name}
    </Link>
  );
}

interface StepCardProps {
  readonly number: number;
  readonly step: GuideStep;
  readonly title: string;
  readonly children: ReactNode;
}

/** Has the same height whether it is done or not, so that a tick moves nothing. Code comes last. */
function StepCard({ number, step: { done, says }, title, children }: StepCardProps) {
  return (
    <li className="card-surface flex gap-4 p-5">
      <span
        className={`grid size-7 shrink-0 place-items-center rounded-full text-sm font-semibold tabular-nums ${
          done ? 'bg-success text-success-foreground' : 'bg-accent-soft text-accent-soft-foreground'
        }`}
        aria-hidden
      >
        {done ? <span className="icon-check size-4" /> : number}
      </span>
      <div className="min-w-0 flex-1 text-sm leading-6 text-muted">
        <h2 className="text-[0.9375rem] leading-7 font-semibold text-foreground">
          {title}
          {done ? <span className="sr-only"> (done)</span> : null}
        </h2>
        <p className="mb-2 line-clamp-2 min-h-6 text-[0.8125rem] wrap-anywhere" role="status" title={says}>
          {says}
        </p>
        {children}
      </div>
    </li>
  );
}
