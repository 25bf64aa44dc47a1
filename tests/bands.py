"""The confidence bands of a model at some points, in its own units."""

from types import SimpleNamespace


def bands(model, X):
    """What is believed at ``X (m, d)``, with the bounds of eq. 7, 14 and 15, each ``(m,)``."""
    mu, sigma = model.mean.predict(X)
    g, spread = model.noise.latent(X)
    return SimpleNamespace(
        mu=mu,
        sigma=sigma,
        f_lower=mu - model.beta * sigma,
        f_upper=mu + model.beta * sigma,
        noise_var=model.noise.link(g),
        noise_lower=model.noise.link(g - model.beta_noise * spread),
        noise_upper=model.noise.link(g + model.beta_noise * spread),
    )
