/* A shared object that is no plugin. */
extern int zoo_nothing;
int zoo_nothing = 1;
