"""Problems of SimOpt: somebody else's simulations, with bounds, a risk coefficient and a truth."""
