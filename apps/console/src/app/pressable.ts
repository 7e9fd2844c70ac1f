/**
 * The style sheet that react-aria's `usePress` adds to a document without an element of this id.
 * Adding it makes the browser look at the fonts again. A font that arrived too late for the first
 * paint would then be used, and move the text.
 */
export const PRESSABLE = {
  id: 'react-aria-pressable-style',
  rules: '@layer{[data-react-aria-pressable]{touch-action:pan-x pan-y pinch-zoom}}',
};
