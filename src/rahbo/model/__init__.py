"""What we believe: kernels, Gaussian processes, the mean and the noise."""
