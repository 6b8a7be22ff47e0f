"""Unfired faults fail the test at its own line; violations warn or fail. Neither hides an earlier failure."""

from __future__ import annotations

import re

from tests.plugin.conftest import Inner

_UNANSWERED = """
    import unittest
    from hypothesis import given, settings, strategies as st

    def test_plain(petstore):
        petstore.inject(404, on="getPet", times=1)

    def test_in_setup(planned):
        pass

    @pytest.fixture
    def planned(petstore):
        petstore.inject(404, on="getPet", times=1)

    def test_httpserver(petstore):
        petstore.httpserver.expect_ordered_request("/v1/store/orders").respond_with_json([])

    def test_error_inside_the_fake(petstore):
        def bad(request):
            raise RuntimeError("in the predicate")
        petstore.inject(500, when=bad)
        call(petstore)

    class Case(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def before(self, petstore):
            self.petstore = petstore

        def test_case(self):
            self.petstore.inject(404, on="getPet", times=1)

    @given(number=st.integers(0, 100))
    @settings(database=None)
    def test_given(petstore, number):
        if number > 7:
            petstore.inject(404, on="getPet", times=1)

    @pytest.mark.asyncio
    @given(number=st.integers(0, 100))
    @settings(database=None)
    async def test_given_async(petstore, number):
        if number > 7:
            petstore.inject(404, on="getPet", times=1)
"""

_EXCUSED = """
    import unittest
    from hypothesis import HealthCheck, assume, given, settings, strategies as st

    def test_skipped(petstore):
        petstore.inject(404, on="getPet", times=1)
        call(petstore, path="/pets?limit=0")
        pytest.skip("after planning")

    class Case(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def before(self, petstore):
            self.petstore = petstore

        def test_skipped(self):
            call(self.petstore, path="/pets?limit=0")
            self.skipTest("after a violation")

    @pytest.mark.xfail(strict=True)
    def test_expected_to_fail(petstore):
        petstore.inject(404, on="getPet", times=1)

    examples = []

    @given(number=st.integers(0, 100))
    @settings(database=None, max_examples=5, suppress_health_check=list(HealthCheck))
    def test_examples_thrown_away(petstore, number):
        examples.append(number)
        petstore.inject(404, on="getPet", times=1)
        assume(len(examples) == 1)  # the last example is discarded
        assert call(petstore, path="/pets/1")[0] == 404

    def test_cancelled(petstore):
        petstore.inject(404, on="getPet", times=1).cancel()

    def test_fired(petstore):
        petstore.inject(401, on="listPets", times=1)
        assert call(petstore)[0] == 401
"""


def test_an_unfired_fault_is_a_failure_and_not_an_error(inner: Inner) -> None:
    result = inner(_UNANSWERED)
    result.assert_outcomes(failed=7)
    text = str(result.stdout)
    assert text.count("never fired: no request matched it") >= 5
    assert "an ordered expectation was not met: <RequestMatcher uri='/v1/store/orders'" in text
    assert "RuntimeError: in the predicate" in text
    assert "number=8," in text, "Hypothesis shrinks a failed verification"
    result.stdout.re_match_lines(
        [r"_+ test_plain _+", r"inject\(not_found.*", "", r"test_inner\.py:\d+: VerificationError"]
    )
    assert "All traceback entries are hidden" not in text


def test_a_skipped_test_an_expected_failure_or_a_discarded_example_is_not_verified(inner: Inner) -> None:
    result = inner(_EXCUSED)
    result.assert_outcomes(passed=3, skipped=2, xfailed=1)
    assert "limit=0" not in str(result.stdout), "a skipped test has no warnings"


def test_a_failed_verification_does_not_hide_the_first_failure(inner: Inner) -> None:
    result = inner(
        """
        import unittest

        def test_plain(petstore):
            petstore.inject(404, on="getPet", times=1)
            assert 1 == 2

        class Case(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def before(self, petstore):
                self.petstore = petstore

            def test_case(self):
                self.petstore.inject(404, on="getPet", times=1)
                self.assertEqual(3, 4)
        """
    )
    result.assert_outcomes(failed=2)
    text = str(result.stdout)
    assert "assert 1 == 2" in text
    assert "AssertionError: 3 != 4" in text
    assert text.count("also: inject(not_found(), on='getPet', times=1) never fired") == 2


_VIOLATIONS = """
    def test_unknown_query(petstore):
        assert call(petstore, path="/pets?lim=1")[0] == 400
        assert call(petstore, path="/pets?lim=1")[0] == 400

    def test_declared(petstore):
        with petstore.expect_violation("categoryId"):
            call(petstore, "POST", body={"name": "Rex"})

    def test_not_caused_by_the_client(petstore):
        petstore.configure(key_rotation="mid_session")
        assert [call(petstore)[0] for _ in range(11)] == [200] * 10 + [401]

    @pytest.mark.parametrize("number", [1])
    def test_calls_the_deprecated_operation(petstore, number):
        for _ in range(3):
            assert call(petstore, path="/pets/1")[0] == 404
"""


def test_violations_warn_once_at_the_line_of_the_test(inner: Inner) -> None:
    result = inner(_VIOLATIONS)
    result.assert_outcomes(passed=4, warnings=2)
    text = str(result.stdout)
    assert "test_inner.py:4: ContractWarning: GET /v1/pets?lim=1 broke the contract (§4.1): query.lim" in text
    assert "DeprecatedOperationWarning: the client called getPet" in text
    assert "categoryId" not in text


def test_a_warning_filter_can_make_a_violation_fail_the_test(inner: Inner) -> None:
    result = inner(_VIOLATIONS, "-Werror::petstore_mock.ContractWarning")
    result.assert_outcomes(failed=1, passed=3, warnings=1)
    assert "test_inner.py:4: ContractWarning" in str(result.stdout)
    result = inner(_VIOLATIONS, "-Werror")
    result.assert_outcomes(failed=2, passed=2)
    assert "test_inner.py:17: DeprecatedOperationWarning" in str(result.stdout)


def test_strict_fails_the_test_that_broke_the_contract(inner: Inner) -> None:
    source = """
        @pytest.mark.petstore(strict=True)
        def test_strict(petstore):
            call(petstore, path="/pets?lim=1")

        def test_not_strict(petstore):
            call(petstore, path="/pets?lim=1")
    """
    result = inner(source)
    result.assert_outcomes(failed=1, passed=1, warnings=1)
    result.stdout.re_match_lines(
        [r"GET /v1/pets\?lim=1 broke the contract \(§4.1\).*", "", r".*:\d+: ContractViolationError"]
    )
    inner(source, settings="petstore_strict = true").assert_outcomes(failed=2)


def test_violations_in_a_fresh_world_are_reported_like_those_in_the_outer_world(inner: Inner) -> None:
    source = """
        def test_it(petstore):
            with petstore.fresh(api_key="key-of-fresh-world") as outer:
                call(outer, path="/pets?outer=key-of-fresh-world", key="wrong")
                with outer.fresh() as innermost, innermost.expect_violation("declared"):
                    call(innermost, path="/pets/1")
                    call(innermost, path="/pets?declared=1")

        def test_of_its_own(petstore):
            call(petstore, path="/pets?own=1")
    """
    result = inner(source)
    result.assert_outcomes(passed=2, warnings=3)
    text = str(result.stdout)
    assert "test_inner.py:4: ContractWarning: GET /v1/pets?outer=***orld broke the contract (§5)" in text
    assert "test_inner.py:4: DeprecatedOperationWarning" in text
    assert "declared" not in text
    assert "key-of-fresh-world" not in text
    inner(source, "-Werror::petstore_mock.ContractWarning").assert_outcomes(failed=2)


_RESETS = """
    def test_resets(petstore):
        petstore.inject(503, on="createPet", times=1)
        call(petstore, path="/pets?limit=1000")
        petstore.reset()

    @pytest.fixture
    def resets(petstore):
        yield
        call(petstore, path="/pets?limit=2000")
        petstore.reset()

    def test_resets_in_teardown(resets):
        pass

    def test_fails_first(petstore):
        call(petstore, path="/pets?limit=3000")
        petstore.reset()
        assert 1 == 2

    def test_next(petstore):
        pass
"""


def test_a_reset_keeps_unreported_violations_and_unfired_faults(inner: Inner) -> None:
    result = inner(_RESETS, settings="petstore_strict = true")
    result.assert_outcomes(failed=2, passed=2, errors=1)
    text = str(result.stdout)
    assert "before a reset: inject(server_error(503), on='createPet', times=1) never fired" in text
    for limit in ("1000", "2000"):
        assert re.search(rf"(?m)^before a reset: GET /v1/pets\?limit={limit} broke the contract", text)
    assert "also: before a reset: GET /v1/pets?limit=3000 broke the contract" in text


_TEARDOWNS = """
    @pytest.fixture
    def late(petstore):
        yield
        call(petstore, path="/pets?at=teardown")

    def test_late(late):
        pass

    @pytest.fixture
    def raises(petstore):
        yield
        call(petstore, path="/pets?while=raising")
        call(petstore, path="/pets/1")
        call(petstore, "POST", body={"name": "Rex", "categoryId": 1})
        raise RuntimeError("in the teardown")

    def test_raises(raises):
        pass

    @pytest.fixture
    def plans(petstore):
        yield
        petstore.inject(404, on="getPet", times=1)

    def test_plans(plans):
        pass

    def test_fails(late, petstore):
        petstore.inject(404, on="getPet", times=1)
        call(petstore, path="/pets?in=body")

    @pytest.fixture(scope="module")
    def later(petstore):
        yield
        call(petstore, path="/pets?of=module")

    def test_module(later):
        pass
"""


def test_strict_includes_requests_during_the_teardown_of_fixtures(inner: Inner) -> None:
    result = inner(_TEARDOWNS, settings="petstore_strict = true")
    result.assert_outcomes(passed=4, failed=1, errors=5)
    text = str(result.stdout)
    assert len(re.findall(r"(?m)^GET /v1/pets\?at=teardown broke", text)) == 2
    assert len(re.findall(r"(?m)^GET /v1/pets\?of=module broke", text)) == 1
    assert len(re.findall(r"(?m)^E .*RuntimeError: in the teardown", text)) == 1
    assert "also: GET /v1/pets?while=raising broke the contract" in text
    assert len(re.findall(r"(?m)^inject.* never fired", text)) == 2, (
        "the fault that the test body planned is reported once"
    )
    assert len(re.findall(r"(?m)^GET .*in=body broke", text)) == 1


def test_a_setup_that_raises_is_reported_once_and_with_its_requests(inner: Inner) -> None:
    source = """
        @pytest.fixture
        def raises(petstore):
            call(petstore, path="/pets?in=setup")
            petstore.inject(404, on="getPet", times=1)
            raise RuntimeError("in the setup")

        def test_it(raises):
            pass

        @pytest.fixture
        def skips(petstore):
            petstore.inject(404, on="getPet", times=1)
            pytest.skip("not here")

        def test_skipped(skips):
            pass
    """
    result = inner(source, settings="petstore_strict = true")
    result.assert_outcomes(errors=1, skipped=1, warnings=1)
    assert "request 1 broke the contract: GET /v1/pets?in=setup" in str(result.stdout)
