import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { expect, it } from '@jest/globals';
import { type LimiterHandlers, limiterService } from '@tidegate/rpc';
import { callFindings } from './calls.ts';

/** Longer than a screen waits. */
const SLOW_MS = 1_500;

it('finds no fault with a limiter that answers slowly', async () => {
  const server = new Server();
  const unused = () => undefined;
  const answer: LimiterHandlers['FindRequest'] = (_call, callback) =>
    void pause(SLOW_MS).then(() => callback(null, {}));
  server.addService(limiterService, {
    ...{ Session: unused, RefreshOrgs: unused, RevokeKey: unused, ForgetOrg: unused },
    ...{ GetMonth: unused, ConfirmSettlements: unused, FindRequest: answer },
  });
  const port = await promisify(server.bindAsync.bind(server))(
    '127.0.0.1:0',
    ServerCredentials.createInsecure(),
  );
  const caller = { token: null, tls: null };
  const [limiters] = await callFindings({
    limiters: [`127.0.0.1:${port}`],
    runners: [],
    caller,
    waits: {},
  });
  server.forceShutdown();
  expect(limiters).toMatchObject({ check: 'limiters', ok: true });
});
