export { default } from '../../../(screens)/loading.tsx';
