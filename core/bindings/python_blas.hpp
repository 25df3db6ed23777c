// SciPy's BLAS, as Python hands it out.
#pragma once

#include <string>
#include <type_traits>

#include "bindings/arrays.hpp"
#include "covariances/blas.hpp"

namespace confidently::python {

// Functions of scipy.linalg.cython_blas, which name their types: these must begin as what is called here.
struct PythonBlas {
    Blas<float> single_precision;
    Blas<double> double_precision;
    Dict kept;  // so that what the functions belong to stays loaded

    explicit PythonBlas(Dict functions) : kept(functions) {
        find(functions, 's', single_precision);
        find(functions, 'd', double_precision);
    }

    template <class Real>
    const Blas<Real>& of() const {
        if constexpr (std::is_same_v<Real, double>)
            return double_precision;
        else
            return single_precision;
    }

  private:
    template <class Real>
    static void find(const Dict& functions, char letter, Blas<Real>& blas) {
        const std::string prefix(1, letter);
        blas.gemm =
            function<decltype(blas.gemm)>(functions, prefix + "gemm", "void (char *, char *, int *, int *, int *, ");
        blas.syrk = function<decltype(blas.syrk)>(functions, prefix + "syrk", "void (char *, char *, int *, int *, ");
    }

    template <class Function>
    static Function function(const Dict& functions, const std::string& name, const std::string& type) {
        require(functions.contains(name.c_str()), "SciPy's BLAS lacks a function");
        const nb::object capsule = functions[name.c_str()];
        require(PyCapsule_CheckExact(capsule.ptr()), "SciPy's BLAS has functions of another kind");
        const char* found = PyCapsule_GetName(capsule.ptr());
        require(found && std::string(found).starts_with(type), "SciPy's BLAS has functions of another type");
        return reinterpret_cast<Function>(PyCapsule_GetPointer(capsule.ptr(), found));
    }
};

}  // namespace confidently::python
