import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { emptyPostgres, type TestPostgres, testPostgres, urlAs } from '@tidegate/testing';
import pg from 'pg';
import { DATABASE_SERVICES, type DatabaseService } from './logins.ts';
import { migrate } from './migrate.ts';

/** Privileges on whole tables, and on columns: `UPDATE(revoked_at)`. */
type Grants = Readonly<Record<string, readonly string[]>>;

const ALL = ['DELETE', 'INSERT', 'SELECT', 'UPDATE'];

/** For services that publish and change models. A model's name, kind and mode never change. */
const MANAGED_MODEL = [
  ...['INSERT', 'SELECT', 'UPDATE(context_tokens)', 'UPDATE(deleted_at)', 'UPDATE(settings)'],
  ...['UPDATE(sleep_after_s)', 'UPDATE(upstream_key)', 'UPDATE(upstream_model)', 'UPDATE(version)'],
];

/** For an operator, whose machines the models run on. */
const PLACED_MODEL = [...MANAGED_MODEL, 'UPDATE(cost)', 'UPDATE(pinned)', 'UPDATE(pool)'].sort();
/** Enough to see whether the database has the migrations of a release. */
const MIGRATION_RECORDS = ['SELECT(finished_at)', 'SELECT(migration_name)', 'SELECT(rolled_back_at)'];

/** What each service may do. A table that is not listed is closed to it. */
const GRANTS: Readonly<Record<DatabaseService, Grants>> = {
  limiter: {
    _prisma_migrations: MIGRATION_RECORDS,
    api_key: ['SELECT', 'UPDATE(last_used_at)'],
    api_key_model: ['SELECT'],
    deleted_org: ['SELECT', 'UPDATE(forgotten_at)'],
    month_total: ['SELECT'],
    org: ['SELECT', 'UPDATE(limiter_life)'],
    plan: ['SELECT'],
    refusal_hour: ['INSERT', 'SELECT', 'UPDATE(refusals)'],
    refusal_report: ['INSERT', 'SELECT', 'UPDATE(at)', 'UPDATE(sequence)'],
    request: ['SELECT(day)', 'SELECT(reservation_id)'],
  },
  metering: {
    _prisma_migrations: MIGRATION_RECORDS,
    api_key: ['SELECT(id)', 'SELECT(last_used_at)', 'UPDATE(last_used_at)'],
    deleted_org: ['SELECT'],
    month_total: ['INSERT', 'SELECT', 'UPDATE'],
    request: ['INSERT', 'SELECT'],
    usage_day: ['INSERT', 'SELECT', 'UPDATE'],
    usage_hour: ['INSERT', 'SELECT', 'UPDATE'],
    usage_time: ['INSERT', 'SELECT', 'UPDATE'],
  },
  runner: {
    _prisma_migrations: MIGRATION_RECORDS,
    condition_change: ALL,
    left_workload: ['DELETE', 'SELECT'],
    model: ['SELECT', 'UPDATE(condition)', 'UPDATE(condition_at)', 'UPDATE(condition_reason)'],
    runner_lease: ['INSERT', 'SELECT', 'UPDATE'],
    runner_pool: ['SELECT'],
  },
  console: {
    _prisma_migrations: MIGRATION_RECORDS,
    account: ALL,
    api_key: ['DELETE', 'INSERT', 'SELECT', 'UPDATE(revoked_at)'],
    api_key_model: ['INSERT', 'SELECT'],
    audit_event: ['INSERT', 'SELECT'],
    condition_change: ['SELECT'],
    deleted_org: ['SELECT'],
    invitation: ALL,
    member: ALL,
    model: MANAGED_MODEL,
    month_total: ['SELECT'],
    org: ['SELECT', 'UPDATE(limits_version)', 'UPDATE(plan_id)', 'UPDATE(requires_two_factor)'],
    plan: ['SELECT', 'UPDATE(updated_at)'],
    refusal_day: ['SELECT'],
    refusal_hour: ['SELECT'],
    request: ['SELECT'],
    session: ALL,
    sign_in_attempt: ALL,
    passkey: ALL,
    two_factor: ALL,
    usage_day: ['SELECT'],
    usage_hour: ['SELECT'],
    usage_time: ['SELECT'],
    user: ALL,
    verification: ALL,
  },
  ctl: {
    _prisma_migrations: MIGRATION_RECORDS,
    account: ALL,
    api_key: ['DELETE', 'INSERT', 'SELECT', 'UPDATE(revoked_at)'],
    api_key_model: ['INSERT', 'SELECT'],
    audit_event: ['INSERT', 'SELECT'],
    condition_change: ['SELECT'],
    deleted_org: ['SELECT'],
    invitation: ['DELETE', 'SELECT'],
    left_workload: ['SELECT'],
    member: ALL,
    model: PLACED_MODEL,
    month_total: ['SELECT'],
    org: [
      ...['INSERT', 'SELECT', 'UPDATE(limits_version)', 'UPDATE(plan_id)', 'UPDATE(requires_two_factor)'],
    ],
    plan: ['INSERT', 'SELECT', 'UPDATE'],
    refusal_day: ['SELECT'],
    refusal_hour: ['SELECT'],
    request: ['SELECT'],
    runner_lease: ['SELECT(expires_at)', 'SELECT(pool)'],
    runner_pool: ALL,
    session: ['DELETE', 'SELECT'],
    sign_in_attempt: ['DELETE', 'SELECT'],
    passkey: ['DELETE', 'SELECT'],
    two_factor: ['DELETE', 'SELECT'],
    usage_day: ['SELECT'],
    usage_hour: ['SELECT'],
    usage_time: ['SELECT'],
    user: ALL,
    verification: ['DELETE', 'SELECT(value)'],
  },
};

/** Privileges of roles, and of everyone, on the tables and columns of this database. */
const READ = `
  WITH granted AS (
    SELECT c.relname, NULL AS attname, a.grantee, a.privilege_type
    FROM pg_class c, aclexplode(c.relacl) a
    WHERE c.relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT c.relname, t.attname, a.grantee, a.privilege_type
    FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid, aclexplode(t.attacl) a
    WHERE c.relnamespace = 'public'::regnamespace
  )
  SELECT coalesce(r.rolname, 'everyone') AS role, g.relname AS table,
    g.privilege_type || coalesce('(' || g.attname || ')', '') AS privilege
  FROM granted g LEFT JOIN pg_roles r ON r.oid = g.grantee
  WHERE r.rolname IS DISTINCT FROM current_user
  ORDER BY role, g.relname, privilege`;

let server: TestPostgres;
let client: pg.Client;
beforeAll(async () => {
  server = await testPostgres();
  client = new pg.Client({ connectionString: server.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await server.drop();
});

describe('the role of each service', () => {
  it('has exactly the stated privileges, and no other role has any', async () => {
    const found: Record<string, Record<string, string[]>> = {};
    for (const { role, table, privilege } of (await client.query(READ)).rows) {
      found[role] ??= {};
      found[role][table] ??= [];
      found[role][table].push(privilege);
    }
    const stated = DATABASE_SERVICES.map((service) => [`tidegate_${service}`, GRANTS[service]]);
    expect(found).toEqual(Object.fromEntries(stated));
  });

  it('cannot log in, is not a superuser, creates nothing, owns nothing and is a member of nothing', async () => {
    const { rows } = await client.query(`
      SELECT rolname FROM pg_roles r
      WHERE rolname ~ '^tidegate_(${DATABASE_SERVICES.join('|')})$' AND NOT (
        rolcanlogin OR rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls
        OR has_schema_privilege(r.oid, 'public', 'CREATE')
        OR EXISTS (SELECT FROM pg_class WHERE relowner = r.oid)
        OR EXISTS (SELECT FROM pg_auth_members WHERE member = r.oid))
      ORDER BY rolname`);
    expect(rows.map(({ rolname }) => rolname)).toEqual(
      DATABASE_SERVICES.map((service) => `tidegate_${service}`).sort(),
    );
  });

  it('can create nothing even where everybody could, as in databases of Postgres 14', async () => {
    const open = await emptyPostgres();
    const owner = new pg.Client({ connectionString: open.url });
    const metering = new pg.Client({ connectionString: urlAs('metering', open.url) });
    try {
      await owner.connect();
      await owner.query('GRANT CREATE ON SCHEMA public TO PUBLIC');
      await migrate(open.url);
      await metering.connect();
      // The function that creates a partition calls to_char(), and this one would match better.
      const better = 'LANGUAGE sql RETURN pg_catalog.to_char($1::timestamp, $2) || current_user';
      await expect(
        metering.query(`CREATE FUNCTION public.to_char(date, text) RETURNS text ${better}`),
      ).rejects.toMatchObject({ code: '42501', message: 'permission denied for schema public' });
    } finally {
      await Promise.all([owner.end(), metering.end()]);
      await open.drop();
    }
  });

  it('may call only these functions with the rights of the owner', async () => {
    const { rows } = await client.query(`
      SELECT proname AS name, array_to_string(proconfig, ' ') AS settings,
        ARRAY(SELECT coalesce(r.rolname, 'everyone')::text
          FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) a
          LEFT JOIN pg_roles r ON r.oid = a.grantee WHERE a.grantee <> proowner ORDER BY 1) AS callers
      FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace ORDER BY 1`);
    const path = 'search_path=public, pg_temp';
    const [console, ctl, metering] = ['tidegate_console', 'tidegate_ctl', 'tidegate_metering'];
    expect(rows).toEqual([
      { name: 'count_refusals_of_day', settings: `${path} TimeZone=UTC`, callers: [] },
      { name: 'create_request_partition', settings: path, callers: [metering] },
      { name: 'delete_ended_keys', settings: path, callers: [metering] },
      { name: 'delete_organization', settings: path, callers: [console, ctl] },
      { name: 'drop_request_partition', settings: `lock_timeout=200ms ${path}`, callers: [metering] },
      { name: 'leave_workload', settings: path, callers: [] },
      { name: 'prune_audit_events', settings: path, callers: [metering] },
      { name: 'prune_refusals', settings: path, callers: [metering] },
      { name: 'prune_usage_hours', settings: `${path} TimeZone=UTC`, callers: [metering] },
      { name: 'purge_organization', settings: path, callers: [console, ctl, metering] },
      { name: 'recount_usage_hour', settings: `${path} TimeZone=UTC`, callers: [metering] },
      { name: 'recount_usage_hours', settings: `${path} TimeZone=UTC`, callers: [metering] },
    ]);
  });
});
