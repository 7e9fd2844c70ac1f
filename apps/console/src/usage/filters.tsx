import type { UsageRowView, UsageView } from '@tidegate/control';
import Link from 'next/link';
import { usePathname, useRouter } from 'next/navigation';
import { Choice } from '../ui/field.tsx';
import { PERIODS, type Period, queryOf, type UsageChoice } from './filter.ts';

interface FiltersProps extends UsageChoice {
  readonly usage: UsageView;
  readonly period: Period;
}

/** What to show usage of, and for how long. The address has it, so it can be kept as a link. */
export function Filters({ usage, period, keyId, modelId }: FiltersProps) {
  const router = useRouter();
  const pathname = usePathname();
  const show = (choice: UsageChoice) => {
    if (choice.keyId === keyId && choice.modelId === modelId) return;
    router.replace(`${pathname}${queryOf(choice, period)}`, { scroll: false });
  };
  return (
    <div className="flex flex-wrap gap-3">
      <Choice
        label="Key"
        hideLabel
        options={keyOptions(usage.rows, keyId)}
        value={keyId}
        onChange={(key) => show({ keyId: key, modelId })}
        className="w-full sm:w-60"
      />
      <Choice
        label="Model"
        hideLabel
        options={modelOptions(usage.rows, modelId)}
        value={modelId}
        onChange={(model) => show({ keyId, modelId: model })}
        className="w-full sm:w-60"
      />
      <nav aria-label="Period" className="flex gap-1">
        {PERIODS.map((each) => (
          <Link
            key={each.id}
            href={`${pathname}${queryOf({ keyId, modelId }, each)}`}
            replace
            scroll={false}
            aria-current={each === period ? 'true' : undefined}
            className={`button ${each === period ? 'button--secondary' : 'button--ghost'}`}
          >
            {each.days} days
          </Link>
        ))}
      </nav>
    </div>
  );
}

interface Option {
  readonly id: string;
  readonly text: string;
}

const DELETED_ID_CHARACTERS = 4;

function keyOptions(rows: readonly UsageRowView[], chosen: string): readonly Option[] {
  const names = new Map(
    rows.map(({ keyId, key, keyPrefix }) => [
      keyId,
      keyPrefix === null ? `${key} (…${keyId.slice(-DELETED_ID_CHARACTERS)})` : `${key} · ${keyPrefix}…`,
    ]),
  );
  if (chosen && !names.has(chosen)) names.set(chosen, 'A key without requests');
  return [{ id: '', text: 'All keys' }, ...[...names].map(([id, text]) => ({ id, text }))];
}

function modelOptions(rows: readonly UsageRowView[], chosen: string): readonly Option[] {
  const names = new Map(
    rows.map(({ modelId, model, modelDeleted }) => [modelId, modelDeleted ? `${model} (deleted)` : model]),
  );
  if (chosen && !names.has(chosen)) names.set(chosen, 'A model without requests');
  return [{ id: '', text: 'All models' }, ...[...names].map(([id, text]) => ({ id, text }))];
}
