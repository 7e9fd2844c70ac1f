import { resolve } from 'node:path';
import {
  createControl,
  type LimiterPort,
  limiterOverGrpc,
  logFailures,
  type RunnerPort,
  runnerOverGrpc,
} from '@tidegate/control';
import { closeDb, createDb, type Db, explainPostgres, watchSchema } from '@tidegate/db';
import {
  createLogger,
  createMetrics,
  createOutage,
  type Logger,
  observeStore,
  runService,
  type Service,
  startAdmin,
} from '@tidegate/runtime';
import { type Config, readConfig } from './config.ts';
import { createAccounts } from './server/auth/accounts.ts';
import {
  auditedPasskeys,
  auditedSecondFactor,
  auditedSignIn,
  createRecorder,
} from './server/auth/audited.ts';
import { type Auth, createAuth } from './server/auth/auth.ts';
import { createDevices } from './server/auth/devices.ts';
import { type EndPageKeys, pageKeysEndedBy } from './server/auth/page-keys.ts';
import { canHavePasskeys } from './server/auth/passkey-plugin.ts';
import { createPasskeys } from './server/auth/passkeys.ts';
import type { ProviderFailure } from './server/auth/provider-failures.ts';
import { resealSecondFactors } from './server/auth/reseal-second-factors.ts';
import { createSecondFactor } from './server/auth/second-factor.ts';
import { createSessions, endPasswordSessions } from './server/auth/sessions.ts';
import { createSignIn } from './server/auth/sign-in.ts';
import { startScreens } from './server/http/screens.ts';
import { startSite } from './server/http/server.ts';
import { provideServices, type Services } from './server/services.ts';
import { untilDone } from './server/until-done.ts';

const MAX_DB_CONNECTIONS = 10;
const SHUTDOWN_TIMEOUT_MS = 10_000;

runService('console', async (service) => {
  const config = readConfig();
  const logger = createLogger({ service: 'console', level: config.LOG_LEVEL, explain: explainPostgres });
  service.configure({
    logger,
    ports: { CONSOLE_PORT: config.CONSOLE_PORT, ADMIN_PORT: config.ADMIN_PORT },
    shutdownDelayMs: config.SHUTDOWN_DELAY_MS,
    shutdownTimeoutMs: SHUTDOWN_TIMEOUT_MS,
  });
  const metrics = createMetrics('console');

  const db = createDb(config.DATABASE_URL, { maxConnections: MAX_DB_CONNECTIONS });
  service.onShutdown('postgres', () => closeDb(db));
  const schema = watchSchema(db, logger);
  observeStore(metrics, 'postgres', () => db.$queryRaw`SELECT 1`);
  const { deadlines } = config;
  const limiter = limiterOverGrpc(config.LIMITER_ADDRESSES, config.caller, { deadlines });
  service.onShutdown('limiter', () => limiter.close());
  const runner = runnerOverGrpc(config.RUNNER_ADDRESS, config.caller, { deadlines });
  service.onShutdown('runner', () => runner.close());

  const services = createServices(service, config, { db, limiter, runner, logger });
  provideServices(services);

  const endPageKeys = pageKeysEndedBy(db, services.control);
  catchUp(service, config, { db, auth: services.auth, endPageKeys, logger });

  const screens = await startScreens({
    dir: resolve(import.meta.dirname, '..'),
    host: config.CONSOLE_HOST,
    port: config.CONSOLE_PORT,
  });
  service.onShutdown('screens', () => screens.close());
  const site = await startSite({
    host: config.CONSOLE_HOST,
    port: config.CONSOLE_PORT,
    consoleUrl: config.CONSOLE_URL,
    formOrigins: config.oidc ? [new URL(config.oidc.issuer).origin] : [],
    trustedProxies: config.TRUSTED_PROXIES,
    logger,
    handle: screens.handle,
  });
  service.stopping.addEventListener('abort', () => site.leave());
  service.onShutdown('site', () => site.close());

  const admin = await startAdmin({
    host: config.ADMIN_HOST,
    port: config.ADMIN_PORT,
    metrics,
    stopping: service.stopping,
    logger,
    explain: explainPostgres,
    ready: async () => {
      await db.$queryRaw`SELECT 1`;
      return (await schema.problem()) ?? true;
    },
  });
  service.onShutdown('admin', () => admin.close());
  logger.info({ port: site.port, adminPort: admin.port }, 'console is up');
});

interface CatchUpParts {
  readonly db: Db;
  readonly auth: Auth;
  readonly endPageKeys: EndPageKeys;
  readonly logger: Logger;
}

/** Begins the work that changed settings require. The console does not wait for it. */
function catchUp(service: Service, config: Config, parts: CatchUpParts): void {
  const { db, auth, endPageKeys, logger } = parts;
  const { stopping } = service;
  if (config.AUTH_SECRET_PREVIOUS) {
    const outage = createOutage(logger, 'second factors could not be encrypted under the current secret');
    const resealed = untilDone(() => resealSecondFactors({ db, auth }, stopping), outage, stopping).then(
      (counts) => {
        if (counts) logger.info(counts, 'second factors are encrypted under the current secret');
      },
    );
    service.onShutdown('second factors', () => resealed);
  }
  if (config.OIDC_ONLY) {
    const outage = createOutage(logger, 'sessions of accounts with a password could not be ended');
    const ended = untilDone(() => endPasswordSessions(db, endPageKeys), outage, stopping);
    service.onShutdown('password sessions', async () => void (await ended));
  }
}

interface Stores {
  readonly db: Db;
  readonly limiter: LimiterPort;
  readonly runner: RunnerPort;
  readonly logger: Logger;
}

/** Creates the services that the screens use. */
function createServices(service: Service, config: Config, { db, limiter, runner, logger }: Stores): Services {
  const consoleUrl = config.CONSOLE_URL;
  const idleTimeoutMs = config.SESSION_IDLE_TIMEOUT_MS;
  const { oidc, AUTH_SECRET: secret, AUTH_SECRET_PREVIOUS: previousSecret } = config;
  const devices = createDevices({ secret, previousSecret, consoleUrl, now: Date.now });
  const recordAccount = createRecorder({ db, now: Date.now, logger });
  const control = createControl({
    db,
    limiter: logFailures(limiter, { service: 'limiter', log: logger, now: Date.now }),
    runner: logFailures(runner, { service: 'runner', log: logger, now: Date.now }),
    secretKey: config.SECRET_KEY,
    passwords: !oidc?.only,
    sessionIdleMs: idleTimeoutMs,
    now: Date.now,
  });
  const endPageKeys = pageKeysEndedBy(db, control);
  const onProviderFailure = (failure: ProviderFailure) =>
    logger.warn(failure, 'a sign-in failed at the identity provider');
  const told = { recordAccount, endPageKeys, onProviderFailure };
  const auth = createAuth({ db, consoleUrl, secret, previousSecret, oidc, ...told });
  const signIn = auditedSignIn(createSignIn({ db, auth, devices, now: Date.now }), recordAccount, {
    now: Date.now,
  });
  service.onShutdown('attempts', () => signIn.close());
  return {
    control,
    auth,
    signIn,
    secondFactor: auditedSecondFactor(
      createSecondFactor({ db, auth, devices, now: Date.now }),
      recordAccount,
    ),
    passkeys:
      !oidc?.only && canHavePasskeys(consoleUrl)
        ? auditedPasskeys(createPasskeys({ db, auth, devices }), recordAccount)
        : null,
    sessions: createSessions({ db, auth, idleTimeoutMs, now: Date.now }),
    accounts: createAccounts({ db, auth, passwords: !oidc?.only }),
    recordAccount,
    logger,
    publicApiUrl: config.GATEWAY_PUBLIC_URL,
    apiUrl: config.GATEWAY_URL ?? config.GATEWAY_PUBLIC_URL,
    consoleUrl,
    oidcName: oidc?.name ?? null,
    passwords: !oidc?.only,
    idleTimeoutMs,
    now: Date.now,
  };
}
