/** The screens of an organization, by their addresses. */
export const SCREENS = ['start', 'keys', 'api', 'usage', 'requests', 'try', 'plan', 'members', 'audit'];
