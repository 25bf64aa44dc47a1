import optuna
import pytest
from optuna.testing import pytest_samplers
from rahbo.integrations.optuna import RahboSampler


class TestConformance(
    pytest_samplers.BasicSamplerTestCase,
    pytest_samplers.RelativeSamplerTestCase,
    pytest_samplers.SingleOnlySamplerTestCase,
):
    @pytest.fixture
    def sampler(self):
        return lambda: RahboSampler(seed=0)
