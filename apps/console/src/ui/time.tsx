'use client';

import { useEffect, useState } from 'react';

const UTC = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const DAY = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
});

/** A time in UTC, on one line or two. Shows the user's local time on hover. */
export function Time({ iso }: { iso: string }) {
  const [local, setLocal] = useState<string>();
  useEffect(() => {
    setLocal(
      `${new Date(iso).toLocaleString(undefined, { dateStyle: 'long', timeStyle: 'long' })} (your time)`,
    );
  }, [iso]);
  const [day, clock] = UTC.format(new Date(iso)).split(', ');
  return (
    <time dateTime={iso} title={local} className="tabular-nums">
      <span className="whitespace-nowrap">{day},</span> <span className="whitespace-nowrap">{clock} UTC</span>
    </time>
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
      {DAY.format(new Date(`${day}T00:00:00Z`))}
    </time>
  );
}
