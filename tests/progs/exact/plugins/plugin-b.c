/* SPDX-License-Identifier: MIT */
#define PLUGIN 11
#include "plugin.h"
