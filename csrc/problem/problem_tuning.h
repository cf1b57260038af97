/* The tuned constants of graphs and products, which change results by round-off alone. One command
 * measures them against another revision of the sources:
 *
 *     python -m benchmarks noise FOLDER --against REV */
#ifndef SAPWOOD_PROBLEM_PROBLEM_TUNING_H
#define SAPWOOD_PROBLEM_PROBLEM_TUNING_H

/* A tree is reduced if it has more velocities than the first, and if at least the second number of
 * them, and one in the third, are eliminated: an elimination costs as much as one iteration of the
 * whole tree. */
enum { SAP_WHOLE_VELOCITIES = 6, SAP_FEWEST_ELIMINATED = 2, SAP_ELIMINATED_ONE_IN = 12 };

/* Largest number of velocities of rows of J that are stored one by one. Longer ones have chunks
 * with zeros left out, whose lists cost more than zeros here. A multiple of the width of
 * vectors. */
enum { SAP_SHORT = 8 };

/* Terms of a block of H from which each row of tiles takes only those that it has: to choose them
 * is a pass over all terms, and saves one for each tile of the row but the first. */
enum { SAP_CHOSEN_TERMS = 32 };

/* Contacts of a patch whose products are added to a block together: loads and stores of the block
 * against registers. */
enum { SAP_COUPLED_CONTACTS = 8 };

#endif
