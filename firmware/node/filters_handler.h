//! Filters that are both at once by interrupts (filters_handler.c), in the places of those that are woven.
#ifndef NODE_FILTERS_HANDLER_H
#define NODE_FILTERS_HANDLER_H

#include "filters.h"

filter handler_seal_transmit, handler_seal_receive, handler_open_transmit, handler_open_receive;

#endif
