export { default } from '#app/o/[org]/(screens)/loading.tsx';
