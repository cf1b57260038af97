/* Included before every source file with SAPWOOD_OLD_GLIBC: names of functions as glibc had them
 * before 2.28, so that what is built on a newer system runs on an older one. glibc keeps them. */
#if defined(__linux__) && defined(__x86_64__)
__asm__(".symver exp, exp@GLIBC_2.2.5");
__asm__(".symver exp2, exp2@GLIBC_2.2.5");
__asm__(".symver log, log@GLIBC_2.2.5");
__asm__(".symver log2, log2@GLIBC_2.2.5");
__asm__(".symver pow, pow@GLIBC_2.2.5");
__asm__(".symver hypot, hypot@GLIBC_2.2.5");
__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_join, pthread_join@GLIBC_2.2.5");
__asm__(".symver pthread_sigmask, pthread_sigmask@GLIBC_2.2.5");
#endif
