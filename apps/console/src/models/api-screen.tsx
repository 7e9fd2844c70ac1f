'use client';

import { Button } from '@heroui/react';
import type { ListedModelView } from '@tidegate/control';
import { useState } from 'react';
import { ToGuide } from '../start/to-guide.tsx';
import { CopyButton, Snippets } from '../ui/code.tsx';
import { Empty, PageHeader, Panel } from '../ui/page.tsx';
import { firstUsable } from './first-usable.ts';
import { ModelsTable } from './models-table.tsx';
import { NoUsable } from './no-usable.tsx';
import { PublishModel } from './publish-model.tsx';
import { quickStarts } from './quick-starts.ts';

interface ApiScreenProps {
  readonly org: string;
  readonly mayChange: boolean;
  readonly models: readonly ListedModelView[];
  readonly apiUrl: string;
}

export function ApiScreen({ org, mayChange, models, apiUrl }: ApiScreenProps) {
  const [publishing, setPublishing] = useState(false);
  const example = firstUsable(models);
  return (
    <>
      <PageHeader
        title="API"
        lead="Your published models behind one address, in the chat completions format. Change the base URL, the key and the model name in the client library you have."
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
        <Panel id="models" title="Models" lead="Conditions and requests in flight are live.">
          {models.length === 0 ? (
            <Empty icon={<span className="icon-boxes size-5" aria-hidden />} title="No models yet">
              {mayChange ? (
                <>
                  Publish the first one: any server that speaks chat completions. Or <ToGuide org={org} />.
                </>
              ) : (
                'An owner publishes models; they are listed here.'
              )}
            </Empty>
          ) : (
            <ModelsTable org={org} models={models} mayChange={mayChange} />
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
              <NoUsable
                count={models.length}
                mayChange={mayChange}
                href="#models"
                where="in the list above"
              />
            )}
            <Snippets
              label="Quick start"
              snippets={quickStarts({ apiUrl, key: 'YOUR_API_KEY', model: example?.name ?? 'MODEL' })}
            />
          </div>
        </Panel>
      </div>
      {publishing ? <PublishModel org={org} onClose={() => setPublishing(false)} /> : null}
    </>
  );
}
