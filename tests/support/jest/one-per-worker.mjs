/**
 * Returns a class like the given one, of which a jest worker has one instance, however often it is
 * constructed.
 *
 * @template {new (...args: any[]) => object} Class
 * @param {Class} Class
 * @returns {Class}
 */
export function onePerWorker(Class) {
  /** @type {object | undefined} */
  let instance;
  return new Proxy(Class, {
    construct(_, args) {
      instance ??= new Class(...args);
      return instance;
    },
  });
}
