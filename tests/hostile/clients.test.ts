import { jest } from '@jest/globals';
import { describeBodies } from './clients/bodies.ts';
import { describeConnections } from './clients/connections.ts';
import { describeHangUps } from './clients/hang-ups.ts';
import { describeHeaders } from './clients/headers.ts';
import { useWorld } from './clients/world.ts';

/** Many tests run the command line, which is slow on a busy machine. */
jest.setTimeout(90_000);

const world = useWorld();
describeHangUps(world);
describeConnections(world);
describeBodies(world);
describeHeaders(world);
