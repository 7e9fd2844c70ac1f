import { describeBodies } from './clients/bodies.ts';
import { describeConnections } from './clients/connections.ts';
import { describeHangUps } from './clients/hang-ups.ts';
import { describeHeaders } from './clients/headers.ts';
import { useWorld } from './clients/world.ts';

const world = useWorld();
describeHangUps(world);
describeConnections(world);
describeBodies(world);
describeHeaders(world);
