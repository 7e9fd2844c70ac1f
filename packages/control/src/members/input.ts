import { z } from 'zod';
import { ROLES } from '../access/policy.ts';
import { choice, orgField } from '../fields.ts';
import { emailField } from './user.ts';

/** Who is to have which role where. */
export const memberInput = z.object({ org: orgField, email: emailField, role: choice('Role', ROLES) });
