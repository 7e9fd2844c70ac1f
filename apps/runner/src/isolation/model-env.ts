import { ConfigError, type Variables } from '@tidegate/runtime';

/** Paths of programs and libraries, the locale, and where model servers keep what they download. */
const PASSED = new Set([
  ...['PATH', 'LD_LIBRARY_PATH', 'VIRTUAL_ENV', 'CONDA_PREFIX', 'TMPDIR'],
  ...['LANG', 'LANGUAGE', 'TZ', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  ...['XDG_CACHE_HOME', 'HF_HOME', 'HF_HUB_CACHE', 'HUGGINGFACE_HUB_CACHE', 'TRANSFORMERS_CACHE'],
  ...['HF_HUB_OFFLINE', 'TORCH_HOME', 'TRITON_CACHE_DIR', 'VLLM_CACHE_ROOT', 'LLAMA_CACHE', 'OLLAMA_MODELS'],
  ...['GPU_DEVICE_ORDINAL', 'ONEAPI_DEVICE_SELECTOR', 'ZE_AFFINITY_MASK'],
]);
/** The locale, and libraries for GPUs and arithmetic. */
const PASSED_PREFIX = /^(LC|CUDA|NVIDIA|NCCL|HIP|ROCR|ROCM|HSA|OMP|MKL|GGML)_/;
/** Names of variables that are secrets, such as NVIDIA_API_KEY. */
export const SECRET_NAME = /key|token|secret|passw|credential/i;

/** Tidegate's own variables. No model gets them, whatever the operator names. */
const OWN =
  /^(DATABASE_URL|SECRET_KEY|AUTH_SECRET|SERVICE_TOKENS?|PGPASSWORD|PGPASSFILE)|^(ADMIN|RUNNER|LIMITER|GATEWAY|METERING|CONSOLE|OIDC|TIDEGATE|BETTER_AUTH|REDIS|GRPC_TLS)_|^(LOG_LEVEL|PORT|HOME|USER|LOGNAME)$/;

/** Names of variables. `*` at the end stands for any ending. */
export const VARIABLE_NAMES = /^[A-Za-z_]\w*\*?(,[A-Za-z_]\w*\*?)*$/;

/**
 * The variables of the runner that model processes get: those that model servers need and that
 * contain no secret, and those that the operator names.
 *
 * @param named names that match `VARIABLE_NAMES`
 * @throws ConfigError if one of Tidegate's own variables is named
 */
export function modelEnv(env: Variables, named: string | undefined): Record<string, string> {
  const names = named?.split(',') ?? [];
  const own = names.find((name) => OWN.test(name.replace('*', '')));
  if (own !== undefined)
    throw new ConfigError([
      { variable: 'RUNNER_MODEL_ENV', reason: `names ${own}, which model processes never get` },
    ]);
  const exact = new Set(names);
  const starts = names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  const isPassed = (name: string): boolean =>
    PASSED.has(name) ||
    (PASSED_PREFIX.test(name) && !SECRET_NAME.test(name)) ||
    (!OWN.test(name) && (exact.has(name) || starts.some((start) => name.startsWith(start))));
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && isPassed(name)) passed[name] = value;
  return passed;
}
