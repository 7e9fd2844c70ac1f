import type { AuditView } from '@tidegate/control';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { sentenceOf } from './sentences.ts';

export function EventsTable({ events }: { events: readonly AuditView[] }) {
  return (
    <Table label="List of events" cardsBelow="2xl">
      <thead>
        <tr>
          <th scope="col" className="w-32 @4xl:w-50">
            When
          </th>
          <th scope="col">Who</th>
          <th scope="col">What</th>
          <th scope="col">Settings</th>
        </tr>
      </thead>
      <tbody>
        {events.map((event) => {
          const { verb, subject, settings } = sentenceOf(event);
          return (
            <tr key={event.id}>
              <th scope="row" className="align-top">
                <Time iso={event.at} exact />
              </th>
              <td data-label="Who" className="wide align-top">
                {event.actor}
              </td>
              <td data-label="What" className="wide align-top" title={event.target}>
                {verb} {subject ? <span className="font-medium">{subject}</span> : null}
              </td>
              <td
                className="wide align-top text-xs leading-5 text-muted"
                {...(settings.length > 0 ? { 'data-label': 'Settings' } : {})}
              >
                {settings.map(({ name, value }) => (
                  <span key={name} className="mr-3 inline-block max-w-full">
                    {name} <span className="text-foreground">{value}</span>
                  </span>
                ))}
              </td>
            </tr>
          );
        })}
      </tbody>
    </Table>
  );
}
