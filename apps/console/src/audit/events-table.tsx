import type { AuditView } from '@tidegate/control';
import { Scroll } from '../ui/scroll.tsx';
import { Time } from '../ui/time.tsx';
import { sentenceOf } from './sentences.ts';

export function EventsTable({ events }: { events: readonly AuditView[] }) {
  return (
    <Scroll label="List of events">
      <table className="grid-table min-w-[46rem]">
        <thead>
          <tr>
            <th scope="col">When</th>
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
                  <Time iso={event.at} />
                </th>
                <td className="align-top break-all">{event.actor}</td>
                <td className="align-top" title={event.target}>
                  {verb} {subject ? <span className="font-medium">{subject}</span> : null}
                </td>
                <td className="text-xs text-muted">
                  {settings.map(({ name, value }) => (
                    <span key={name} className="mr-3 inline-block">
                      {name} <span className="text-foreground">{value}</span>
                    </span>
                  ))}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}
