/* SPDX-License-Identifier: MIT */
#define PLUGIN 3
#include "plugin.h"
