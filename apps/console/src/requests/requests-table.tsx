import type { RequestView } from '@tidegate/control';
import { duration, whole } from '../ui/numbers.ts';
import { Table } from '../ui/table.tsx';
import { Moment } from '../ui/time.tsx';

const DASH = '–';

export function RequestsTable({ requests }: { requests: readonly RequestView[] }) {
  return (
    <Table label="List of requests" cardsBelow="4xl">
      <thead>
        <tr>
          <th scope="col" className="w-32 @min-[68rem]:w-38">
            Time
          </th>
          <th scope="col">Key and model</th>
          <th scope="col" className="w-40">
            Result
          </th>
          <th scope="col" className="number w-30">
            Tokens in, out
          </th>
          <th scope="col" className="number w-22">
            Time taken
          </th>
          <th scope="col" className="number w-24">
            First chunk
          </th>
          <th scope="col" className="w-56">
            Request id
          </th>
        </tr>
      </thead>
      <tbody>
        {requests.map((request) => (
          <Row key={request.id} request={request} />
        ))}
      </tbody>
    </Table>
  );
}

function Row({ request }: { request: RequestView }) {
  return (
    <tr>
      <th scope="row" className="align-top">
        <Moment iso={request.at} />
      </th>
      <td data-label="Key and model" className="wide align-top">
        <span className={`block ${request.keyPrefix ? 'font-medium' : 'text-muted italic'}`}>
          {request.key}
        </span>
        <span className="text-[0.8125rem] text-muted">
          {request.model}
          {request.modelDeleted ? ' (deleted)' : ''}
        </span>
      </td>
      <td data-label="Result" className="align-top">
        <Result request={request} />
      </td>
      <td
        data-label="Tokens in, out"
        className="number align-top"
        title={
          request.promptTokens === null ? `${whole(request.chargedTokens)} charged: unreported` : undefined
        }
      >
        {request.promptTokens === null
          ? DASH
          : `${whole(request.promptTokens)}, ${whole(request.completionTokens ?? 0)}`}
      </td>
      <td data-label="Time taken" className="number align-top">
        {duration(request.durationMs)}
      </td>
      <td data-label="First chunk" className="number align-top">
        {duration(request.firstChunkMs)}
      </td>
      <td data-label="Request id" className="wide align-top">
        <code className="font-mono text-[0.6875rem] break-all text-muted">{request.id}</code>
      </td>
    </tr>
  );
}

/** The status that was sent, and why there was no complete answer. */
function Result({ request: { status, answered, code } }: { request: RequestView }) {
  return (
    <>
      <span
        className={`inline-flex items-center gap-1.5 tabular-nums ${answered ? '' : 'font-medium text-danger-soft-foreground'}`}
      >
        <span
          className={`size-2 shrink-0 rounded-full ${answered ? 'bg-(--chart-answered)' : 'bg-(--chart-errors)'}`}
          aria-hidden
        />
        {status ?? 'No status'}
      </span>
      {code === null ? null : <code className="block font-mono text-xs break-all text-muted">{code}</code>}
    </>
  );
}
