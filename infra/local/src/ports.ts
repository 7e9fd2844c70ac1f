import { isFree } from '@tidegate/embedded';
import { StackError } from './errors.ts';

const HIGHEST = 65_535;

/**
 * Checks that nothing listens on a port.
 * @throws StackError that names the option to change the port
 */
export async function claimPort(port: number, what: string, option: string): Promise<number> {
  if (port > HIGHEST)
    throw new StackError(`${what} would listen on port ${port}: the highest is ${HIGHEST}.`);
  if (await isFree(port)) return port;
  const other = port + 10 <= HIGHEST ? port + 10 : port - 10;
  throw new StackError(`Port ${port} is taken: ${what} cannot listen on it.`, {
    hint: `Choose another one: npm start -- ${option} ${other}`,
  });
}
