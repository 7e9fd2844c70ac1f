// @ts-check
/*
 * The variables that each program reads, from the schemas of the built programs. Nothing is
 * started.
 */
const dist = (/** @type {string} */ path) => import(new URL(`../../${path}`, import.meta.url).href);

/**
 * @typedef {{
 *   name: string,
 *   description: string | undefined,
 *   required: boolean,
 *   fallback: unknown,
 *   allowed: string,
 *   secret: boolean,
 * }} Variable `fallback` is the value of a variable that is not set; `allowed` is what the program
 *   says about a bad value.
 */

/** The modules whose `schema` says what the programs read. */
const SCHEMAS = {
  gateway: ['apps/gateway/dist/config.js'],
  limiter: ['apps/limiter/dist/config.js'],
  metering: ['apps/metering/dist/config.js'],
  runner: ['apps/runner/dist/config.js'],
  console: ['apps/console/dist/config.js'],
  ctl: ['apps/ctl/dist/config.js', 'apps/ctl/dist/bootstrap-input.js'],
  migrate: ['packages/db/dist/config.js'],
};

/** @returns {Promise<Record<string, Variable[]>>} by program */
export async function variables() {
  /** @type {Record<string, Variable[]>} */
  const all = {};
  for (const [program, paths] of Object.entries(SCHEMAS)) {
    const modules = await Promise.all(paths.map(dist));
    const fields = modules.flatMap(({ schema }) => Object.entries(schema.shape));
    all[program] = fields.map(([name, field]) => variableOf(name, field));
  }
  return all;
}

/** Texts that no restricted field takes. */
const BAD_VALUES = ['\u0000', '-'.repeat(10_000)];

/** @returns {Variable} */
function variableOf(/** @type {string} */ name, /** @type {any} */ field) {
  const layers = layersOf(field);
  const unset = field.safeParse(undefined);
  const [issue] = BAD_VALUES.flatMap((value) => field.safeParse(value).error?.issues ?? []);
  return {
    name,
    description: layers.map((layer) => layer.meta()?.description).find(Boolean),
    required: !unset.success,
    fallback: unset.data,
    allowed: issue?.message.replace(/^must (be |have )?/, '').replace(/^start /, 'starts ') ?? '',
    secret: field.meta()?.secret === true,
  };
}

/** A field, then what it wraps if it is optional, has a default or transforms, and so on. */
function layersOf(/** @type {any} */ field) {
  const layers = [field];
  for (let inner = field; inner; ) {
    const { innerType, in: input } = inner.def;
    inner = innerType ?? input;
    if (inner) layers.push(inner);
  }
  return layers;
}
