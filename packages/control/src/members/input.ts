import { z } from 'zod';
import { ROLES } from '../access/policy.ts';
import { choice, orgField } from '../fields.ts';
import { emailField } from './user.ts';

/** A person, their role and the organization. */
export const memberInput = z.object({ org: orgField, email: emailField, role: choice('Role', ROLES) });
