import type { Db } from '@tidegate/db';
import { keyNameOf } from '../keys/view.ts';
import { modelNameOf } from '../models/view.ts';
import type { RequestRow } from './read.ts';
import { statusOf } from './status.ts';

/** A counted request that has ended. Its content is not known. */
export interface RequestView {
  /** As in the header `x-request-id`. */
  readonly id: string;
  /** When it was counted. ISO 8601. */
  readonly at: string;
  readonly keyId: string;
  readonly key: string;
  /** Null: the key is deleted. */
  readonly keyPrefix: string | null;
  readonly modelId: string;
  readonly model: string;
  readonly modelDeleted: boolean;
  readonly streamed: boolean;
  readonly answered: boolean;
  /** The HTTP status that was sent. Null: none was, or it is not known. */
  readonly status: number | null;
  /** Why it was not answered. Null if it was. */
  readonly code: string | null;
  /** Null: unreported. Then the full reservation was charged. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly chargedTokens: number;
  /** From counting it to the end of its answer. Null: the gateway died. */
  readonly durationMs: number | null;
  /** From counting it to the first chunk of a stream. Null: no stream had begun. */
  readonly firstChunkMs: number | null;
}

/** Gives rows the names of their keys and models. */
export async function viewRequests(
  db: Db,
  orgId: string,
  rows: readonly RequestRow[],
): Promise<RequestView[]> {
  const idsOf = (of: (row: RequestRow) => string) => ({ orgId, id: { in: [...new Set(rows.map(of))] } });
  const [keys, models] = await Promise.all([
    db.apiKey.findMany({
      where: idsOf(({ keyId }) => keyId),
      select: { id: true, name: true, prefix: true },
    }),
    db.model.findMany({
      where: idsOf(({ modelId }) => modelId),
      select: { id: true, name: true, deletedAt: true },
    }),
  ]);
  const keyOf = new Map(keys.map((key) => [key.id, key]));
  const modelOf = new Map(models.map((model) => [model.id, model]));
  return rows.map((row) => {
    const key = keyOf.get(row.keyId);
    return {
      id: `req_${row.reservationId}`,
      at: row.reservedAt.toISOString(),
      keyId: row.keyId,
      key: keyNameOf(row.keyId, key?.name),
      keyPrefix: key?.prefix ?? null,
      ...modelNameOf(row.modelId, modelOf.get(row.modelId)),
      streamed: row.streamed,
      answered: row.answered,
      status: statusOf(row),
      code: row.errorCode,
      promptTokens: row.promptTokens,
      completionTokens: row.completionTokens,
      chargedTokens: row.chargedTokens,
      durationMs: row.durationMs,
      firstChunkMs: row.firstChunkMs,
    };
  });
}
