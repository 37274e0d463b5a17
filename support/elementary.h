// Elementary functions of double with the same result on every processor. Those of the C library
// choose code by the instruction set of the processor and differ in the last place. Errors are
// below 0.51 ulp: each is computed in long double by additions, multiplications and divisions, and
// rounded once.
#ifndef TARSIA_SUPPORT_ELEMENTARY_H_
#define TARSIA_SUPPORT_ELEMENTARY_H_

namespace tarsia {

double Exp(double x);
double Exp2(double x);
double Log(double x);
double Log2(double x);
double Sin(double x);
double Cos(double x);
double Tanh(double x);
double Erf(double x);

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_ELEMENTARY_H_
