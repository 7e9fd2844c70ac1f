'use client';

import { HOUR_MS } from '@tidegate/limits';
import { useEffect, useState } from 'react';
import { ago } from './relative.ts';
import { useNow } from './use-now.ts';
import { timeText } from './utc.ts';

interface TimeProps {
  readonly iso: string;
  /** Show the time itself, for what is compared with other records. Otherwise: how long ago. */
  readonly exact?: boolean;
}

/** A time. On hover it shows the time in UTC and in the user's time zone. */
export function Time({ iso, exact = false }: TimeProps) {
  const at = new Date(iso);
  const [local, setLocal] = useState('');
  useEffect(() => {
    setLocal(
      ` · ${new Date(iso).toLocaleString(undefined, { dateStyle: 'long', timeStyle: 'long' })} (your time)`,
    );
  }, [iso]);
  const now = useNow();
  const utc = timeText(iso);
  const relative = exact ? null : ago(at.getTime(), now);
  const [day, clock] = utc.split(', ');
  return (
    // The server's clock may be a little different.
    <time dateTime={iso} title={`${utc}${local}`} className="tabular-nums" suppressHydrationWarning>
      {relative === null ? (
        <>
          <span className="whitespace-nowrap">{day},</span> <span className="whitespace-nowrap">{clock}</span>
        </>
      ) : (
        <span className="whitespace-nowrap" suppressHydrationWarning>
          {relative}
        </span>
      )}
    </time>
  );
}

/** A time within the hour that begins then. */
export function HourOf({ iso }: { iso: string }) {
  const now = useNow();
  return now - Date.parse(iso) < HOUR_MS ? (
    <span title={timeText(iso)} suppressHydrationWarning>
      this hour
    </span>
  ) : (
    <Time iso={iso} />
  );
}

const SECOND = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

/** A UTC time of recent weeks, to the second. */
export function Moment({ iso }: { iso: string }) {
  const [day, clock] = SECOND.format(new Date(iso)).split(', ');
  return (
    <time dateTime={iso} title={`${iso} UTC`} className="tabular-nums">
      <span className="whitespace-nowrap">{day},</span> <span className="whitespace-nowrap">{clock}</span>
    </time>
  );
}

/** A UTC day, `YYYY-MM-DD`. */
export function Day({ day }: { day: string }) {
  return (
    <time dateTime={day} title={`${day}, UTC`} className="whitespace-nowrap tabular-nums">
      {timeText(day)}
    </time>
  );
}
