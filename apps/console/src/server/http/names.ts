/** Request headers in which the server passes information to the screens. */
export const NONCE_HEADER = 'x-tidegate-nonce';
export const CLIENT_ADDRESS_HEADER = 'x-tidegate-client-address';
/** The requested path with its query. */
export const PATH_HEADER = 'x-tidegate-path';
