/** Request headers by which the server tells the screens what it knows. */
export const NONCE_HEADER = 'x-tidegate-nonce';
export const CLIENT_ADDRESS_HEADER = 'x-tidegate-client-address';
/** The path that was asked for, with its query. */
export const PATH_HEADER = 'x-tidegate-path';
