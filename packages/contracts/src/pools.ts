/** The pool of models and runners that name none. */
export const LOCAL_POOL = 'local';

/** What a pool of runners may be called. */
export const POOL_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
