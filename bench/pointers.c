/* SPDX-License-Identifier: MIT */
/* Pointers chased through a list, and a product of matrices: work for bench/wset. */
#include <stdio.h>
#include <stdlib.h>

#define NODES (1u << 16)
#define SIDE 320

struct node {
	struct node *next;
	long value[7];
};

static double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];

int main(void)
{
	struct node *list = calloc(NODES, sizeof(*list)), *p;
	unsigned at = 0;
	long sum = 0;

	if (!list)
		return 1;
	for (unsigned i = 0; i < NODES; i++) { /* a cycle through all of them */
		unsigned to = (at * 5 + 12345) % NODES;

		list[at].next = &list[to];
		list[at].value[0] = i;
		at = to;
	}
	p = list;
	for (long i = 0; i < 40000000; i++) {
		sum += p->value[0];
		p = p->next;
	}
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++)
			a[i][j] = b[j][i] = i + j;
	for (int round = 0; round < 8; round++)
		for (int i = 0; i < SIDE; i++)
			for (int k = 0; k < SIDE; k++)
				for (int j = 0; j < SIDE; j++)
					c[i][j] += a[i][k] * b[k][j];
	printf("%ld %g\n", sum, c[7][9]);
	return 0;
}
