"""float32 gamma functions: those of float64, rounded."""


def tgamma_f32(x):
    return float32(tgamma_f64(float64(x)))


def lgamma_f32(x):
    return float32(lgamma_f64(float64(x)))
