'use client';

import { Button } from '@heroui/react';
import { useState } from 'react';
import { ToGuide } from '../start/to-guide.tsx';
import { CopyButton, Snippets } from '../ui/code.tsx';
import { counted } from '../ui/numbers.ts';
import { Empty, PageHeader, Panel } from '../ui/page.tsx';
import { ModelsList, type ModelsListProps } from './models-list.tsx';
import { NoUsable } from './no-usable.tsx';
import { PublishModel } from './publish-model.tsx';
import { quickStarts } from './quick-starts.ts';
import { FILTERED_FROM } from './rows.ts';

interface ApiScreenProps extends ModelsListProps {
  /** The model of the quick start. Null: none can answer. */
  readonly example: string | null;
  /** Whether the runners of all models have answered. */
  readonly isLive: boolean;
  readonly apiUrl: string;
}

export function ApiScreen({ example, isLive, apiUrl, ...list }: ApiScreenProps) {
  const { org, mayChange, total, conditions } = list;
  const [publishing, setPublishing] = useState(false);
  return (
    <>
      <PageHeader
        title="API"
        lead="Your published models at one address, in the chat completions format. In the client library that you use, change the base URL, the key and the model name."
        actions={
          mayChange ? (
            <Button onPress={() => setPublishing(true)}>
              <span className="icon-plus size-4" aria-hidden />
              Publish model
            </Button>
          ) : null
        }
      />
      <div className="space-y-6">
        <Panel
          id="models"
          title="Models"
          lead={<Lead isLive={isLive} failed={conditions.failed ?? 0} isFiltered={total >= FILTERED_FROM} />}
        >
          {total === 0 ? (
            <Empty icon={<span className="icon-boxes size-5" aria-hidden />} title="No models yet">
              {mayChange ? (
                <>
                  Publish the first one: any server that speaks chat completions. Or <ToGuide org={org} />.
                </>
              ) : (
                'Models that an owner publishes are listed here.'
              )}
            </Empty>
          ) : (
            <ModelsList {...list} />
          )}
        </Panel>
        <Panel title="Quick start">
          <div className="space-y-4 px-5 pb-5">
            <div className="flex flex-wrap items-center gap-3 rounded-xl border border-border bg-surface-secondary px-4 py-2.5">
              <span className="text-[0.8125rem] text-muted">Base URL</span>
              <code className="min-w-0 flex-1 font-mono text-[0.8125rem] break-all">{apiUrl}</code>
              <CopyButton text={apiUrl} label="Copy the base URL" />
            </div>
            {example ? null : (
              <NoUsable count={total} mayChange={mayChange} href="#models" where="in the list above" />
            )}
            <Snippets
              label="Quick start"
              snippets={quickStarts({ apiUrl, key: 'YOUR_API_KEY', model: example ?? 'MODEL' })}
            />
          </div>
        </Panel>
      </div>
      {publishing ? <PublishModel org={org} onClose={() => setPublishing(false)} /> : null}
    </>
  );
}

interface LeadProps extends Pick<ApiScreenProps, 'isLive'> {
  readonly failed: number;
  /** The list has a filter, which can show only the models that failed. */
  readonly isFiltered: boolean;
}

function Lead({ isLive, failed, isFiltered }: LeadProps) {
  const told = `${counted(failed, 'model')} ${failed === 1 ? 'has' : 'have'} failed`;
  return (
    <>
      {isLive
        ? 'Conditions and requests in flight are live.'
        : 'A runner is not available right now. The conditions of its models, with a dash in flight, may be out of date.'}{' '}
      {failed === 0 ? null : isFiltered ? (
        <a href="?condition=failed#models" className="inline-link">
          {told}
        </a>
      ) : (
        told
      )}
      {failed === 0 ? '' : '.'}
    </>
  );
}
